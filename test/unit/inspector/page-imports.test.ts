/** The page runs under a content security policy without `eval`, which zod tries, and should stay small. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { importsOf } from '../../support/imports.ts';

test('the page loads no zod', () => {
  const folder = 'src/inspector/client';
  const files = readdirSync(new URL(`../../../${folder}`, import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('vite.config.ts'))
    .map((name) => `${folder}/${name}`);
  const imports = importsOf(...files);
  expect(imports.length).toBeGreaterThan(100);
  expect(imports).not.toContain('zod');
});

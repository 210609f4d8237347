/** The page runs under a content security policy without `eval`, which zod tries, and should stay small. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url).pathname;
const importPattern = /^(?:import|export)\s+(?!type\b)([^'"]*?)\s*(?:from\s+)?'([^']+)'/gm;
const isTypesOnly = (clause: string): boolean => /^\{\s*(?:type \w+(?: as \w+)?,?\s*)+\}$/.test(clause.trim());

test('the page loads no zod', () => {
  const folder = 'src/inspector/client';
  const reached = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('vite.config.ts'))
    .map((name) => join(folder, name));
  const found: string[] = [];
  for (const file of reached)
    for (const [, clause = '', target = ''] of readFileSync(join(root, file), 'utf8').matchAll(importPattern)) {
      if (isTypesOnly(clause.replace(/from$/, ''))) continue;
      if (target === 'zod') found.push(file);
      const next = join(dirname(file), target);
      if (target.startsWith('.') && /\.tsx?$/.test(target) && !reached.includes(next)) reached.push(next);
    }
  expect(reached.length).toBeGreaterThan(100);
  expect(found).toEqual([]);
});

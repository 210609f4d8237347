/** `npm pack` in a clone without `node_modules` packs nothing and says what to do. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder } from '../../support/deployment.ts';

const root = new URL('../../../', import.meta.url);

test('names the command to run first', async () => {
  const clone = await makeFolder();
  onTestFinished(() => clone.remove());
  const { scripts } = JSON.parse(await readFile(new URL('package.json', root), 'utf8'));
  expect(scripts.prepack).toBe('node scripts/prepack.js');
  await clone.write('package.json', '{ "type": "module" }');
  await clone.write('scripts/prepack.js', await readFile(new URL('scripts/prepack.js', root), 'utf8'));
  const packing = promisify(execFile)(process.execPath, [join(clone.path, 'scripts/prepack.js')]);
  await expect(packing).rejects.toMatchObject({
    code: 1,
    stderr: 'stopgate: this clone cannot be built yet; run "npm ci" first, then "npm pack" again\n',
  });
});

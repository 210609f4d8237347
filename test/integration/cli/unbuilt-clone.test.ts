/** What stopgate says without its packages, and on an old Node. */
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

test.each([
  ['18.20.8', [], 2],
  ['20.18.3', ['dev'], 2],
  ['20.18.3', ['hook', 'claude'], 1],
])('Node %s with %j: a sentence, and exit code %s', async (version, args, code) => {
  const [url, node] = [JSON.stringify(new URL('bin/require-node.js', root)), JSON.stringify(version)];
  const script = `Object.defineProperty(process.versions, 'node', { value: ${node} }); await import(${url});`;
  // With `--eval` the first argument is argv[1].
  const running = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, 'stopgate', ...args]);
  await expect(running).rejects.toMatchObject({
    code,
    stderr: expect.stringMatching(/^stopgate: Node 20\.19 or later/),
  });
});

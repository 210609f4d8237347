/** The client as it is shipped: the example of docs/client.md, imported by the package's name, prints what it says. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { deploy } from '../support/deployment.ts';

const root = resolve(import.meta.dirname, '../..');

test('the example of docs/client.md runs, and each line prints what its comment says', async () => {
  const page = await readFile(join(root, 'docs/client.md'), 'utf8');
  const example = /```ts\n(import \{ connect.*?)```/s.exec(page)?.[1] ?? '';
  const policy = /policies: \{ (reviewed: \{.*\}) \}/.exec(page)?.[1];
  const deployment = await deploy({ config: `policies: { ${policy} }\n` });
  try {
    const { folder, server } = deployment;
    await mkdir(join(folder.path, 'node_modules'));
    await symlink(root, join(folder.path, 'node_modules/stopgate'));
    const file = await folder.write('agent.mjs', example);
    const env = { STOPGATE_NATS: server.url };
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: folder.path, env });
    const printed = [...example.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map(([, line]) => line);
    expect(printed).toHaveLength(3);
    expect(stdout.trim().split('\n')).toEqual(printed);
  } finally {
    await deployment.close();
  }
});

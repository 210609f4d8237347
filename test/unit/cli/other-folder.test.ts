/** A command warns if the service at the default address belongs to another folder. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeOtherFolder, resolveAddress } from '../../../src/cli/connection.ts';
import { serverNameOf } from '../../../src/nats/embedded/server-process.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'stopgate-other-')));
});
afterEach(() => rmSync(folder, { recursive: true }));

const resolve = (nats?: string) => {
  const flags = { nats, creds: undefined, fleet: undefined, config: undefined, context: undefined };
  return resolveAddress(flags, { cwd: folder, env: {} } as Parameters<typeof resolveAddress>[1]);
};
const writeRules = () => writeFileSync(join(folder, 'stopgate.yaml'), 'policies: {}\n');
const other = serverNameOf('/home/ann/other project');

test('the service of another folder is named', async () => {
  writeRules();
  expect(describeOtherFolder(await resolve(), other)).toBe(
    'the service at nats://127.0.0.1:4222 belongs to /home/ann/other project and does not follow the stopgate.yaml of this folder; start "stopgate dev" here, or name the right server with --nats',
  );
});

test.each([
  { why: 'the service belongs to this folder', server: () => serverNameOf(folder) },
  { why: 'the server was not started by stopgate', server: () => 'NAOEXAMPLE' },
  { why: 'the name of the server is damaged', server: () => 'stopgate:%E0%A4%A' },
  { why: 'the user chose the server', server: () => other, nats: 'nats://127.0.0.1:4222' },
])('there is no warning if $why', async ({ server, nats }) => {
  writeRules();
  expect(describeOtherFolder(await resolve(nats), server())).toBeNull();
});

test('in a folder without rules, the warning says whose rules are used', async () => {
  expect(describeOtherFolder(await resolve(), other)).toBe(
    'no service runs in this folder; using the one of /home/ann/other project, with its rules; start "stopgate dev" here, or name the right server with --nats',
  );
});

/** Printed command lines can be copied: they start with `stopgate` or `npx stopgate`, as this user has to type it. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commands } from '../../../src/cli/command-table.ts';
import { programName, rewriteCommands } from '../../../src/cli/program-name.ts';

let home: string;
const put = (folder: string) => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'stopgate'), '#!/bin/sh\n');
  chmodSync(join(folder, 'stopgate'), 0o755);
  return folder;
};
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'stopgate-name-'));
  put(join(home, 'bin'));
  put(join(home, 'project/node_modules/.bin'));
});
afterAll(() => rmSync(home, { recursive: true }));

test.each([
  ['stopgate is on the PATH', () => ({ PATH: `/nowhere:${join(home, 'bin')}` }), 'stopgate'],
  ['stopgate is not on the PATH', () => ({ PATH: '/nowhere' }), 'npx stopgate'],
  ['npx started stopgate', () => ({ PATH: join(home, 'bin'), npm_command: 'exec' }), 'npx stopgate'],
  [
    'a script of the project started stopgate',
    () => ({ PATH: join(home, 'project/node_modules/.bin') }),
    'npx stopgate',
  ],
])('if %s, commands start with the right name', (_, env, name) => {
  expect(programName(env())).toBe(name);
});

test('commands are rewritten anywhere in a text, and nothing else is', () => {
  const text =
    '"stopgate dev" or (stopgate decide w1 | stopgate replay -); stopgate decides; stopgate mcp: bug; npx stopgate dev; /bin/stopgate dev';
  expect(rewriteCommands(text, { PATH: '' }, commands)).toBe(
    '"npx stopgate dev" or (npx stopgate decide w1 | npx stopgate replay -); stopgate decides; stopgate mcp: bug; npx stopgate dev; /bin/stopgate dev',
  );
});

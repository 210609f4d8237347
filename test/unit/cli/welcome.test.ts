/** `stopgate` without arguments says what it is, and offers three ways to begin. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { runOnce } from '../../support/terminal.ts';

test('without a terminal it is a text of at most 20 lines and 80 columns', async () => {
  const { code, stdout, stderr } = await runOnce([], { columns: 80 });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(20);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(stdout).toMatch(/stopgate demo [\s\S]*stopgate backtest [\s\S]*stopgate up [\s\S]*stopgate --help/);
});

test.each([
  ['2', /stopgate backtest|No sessions|sessions/],
  ['', null],
  ['9', null],
])('at a terminal the answer "%s" chooses', async (answer, says) => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.end(`${answer}\n`);
  const { code, stdout, stderr } = await runOnce([], { isTTY: true, stdin, env: { HOME: '/nowhere', NO_COLOR: '1' } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('1, 2 or 3') });
  const after = stdout.split('lists all commands.\n')[1];
  if (says === null) expect(after).toBe('');
  else expect(after).toMatch(says);
});

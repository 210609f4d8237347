/** What agents write is read on terminals, where U+009B begins an escape sequence as ESC [ does. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createLogger } from '../../src/log.ts';
import { createOutput } from '../../src/terminal/output.ts';
import type { Io } from '../../src/terminal/process-io.ts';

const hostile = '\u009b31mred\u001b[0m\u007f\u0085\u202eé';
const escaped = '\\u009b31mred\\u001b[0m\\u007f\\u0085\\u202eé';

test('a line of the log has no control character, and is the same JSON', () => {
  const lines: string[] = [];
  createLogger('info', { write: (line) => void lines.push(line) }).info({ reason: hostile }, 'refused');
  expect(lines[0]).toContain(escaped);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ reason: hostile });
});

test('nor has what --json prints', async () => {
  const stdout = new PassThrough();
  await createOutput({ stdout, isTTY: false, env: {}, size: () => ({ columns: 80 }) } as unknown as Io).json({
    hostile,
  });
  expect(String(stdout.read())).toBe(`{"hostile":"${escaped}"}\n`);
});

/** Commands read files and stdin up to a limit. */
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readText } from '../../../src/cli/input.ts';
import type { Io } from '../../../src/terminal/process-io.ts';

/** Throws if the reader does not stop long before the end. */
function* chunksOf(count: number): Generator<string> {
  for (let index = 0; index < count; index += 1) yield 'x'.repeat(1_048_576);
  throw new Error('still read');
}

test('an endless input is refused with a message, and no longer read', async () => {
  const stdin = Readable.from(chunksOf(12), { highWaterMark: 1 });
  await expect(readText('-', { stdin } as Io)).rejects.toThrow('cannot read stdin: longer than 8388608 characters');
  expect(stdin.destroyed).toBe(true);
});

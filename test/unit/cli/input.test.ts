/** What commands read from files and stdin. */
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readText } from '../../../src/cli/input.ts';
import type { Io } from '../../../src/terminal/process-io.ts';

/** Ends by an error long after it should have been left. */
function* chunksOf(count: number): Generator<string> {
  for (let index = 0; index < count; index += 1) yield 'x'.repeat(1_048_576);
  throw new Error('still read');
}

test('a text that is too long, or has no end, is refused with a message and not read on', async () => {
  const stdin = Readable.from(chunksOf(12), { highWaterMark: 1 });
  await expect(readText('-', { stdin } as Io)).rejects.toThrow('cannot read stdin: longer than 8388608 characters');
  expect(stdin.destroyed).toBe(true);
});

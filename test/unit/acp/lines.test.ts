/** Reads and writes JSON-RPC messages, one per line, with a maximum length. */
import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { createLineWriter, readLines } from '../../../src/acp/lines.ts';

const read = async (chunks: readonly string[], bytesMax?: number): Promise<string[]> => {
  const lines: string[] = [];
  const from = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  for await (const line of readLines(from, 'the agent', bytesMax)) lines.push(line.toString());
  return lines;
};

test('lines are complete, however they are split into chunks', async () => {
  expect(await read(['{"a":', '1}\n{"b"', ':"ü"}\n\n', 'last'])).toEqual(['{"a":1}', '{"b":"ü"}', '', 'last']);
});

test.each([[['123456\n']], [['123', '456']], [['12345\n', '123456\n']]])(
  'a line that is too long is refused, even before its end: %j',
  async (chunks) => {
    await expect(read(chunks, 5)).rejects.toThrow('the agent sent a line longer than 5 bytes');
  },
);

test('a line of exactly the maximum length is accepted', async () => {
  expect(await read(['12345\n12345'], 5)).toEqual(['12345', '12345']);
});

test('a writer waits for a slow reader, but not for one that is gone', async () => {
  const to = new PassThrough({ highWaterMark: 4 });
  const writer = createLineWriter(to);
  let isDone = false;
  const written = writer.write(Buffer.from('{"a":1}')).then(() => {
    isDone = true;
  });
  await new Promise(setImmediate);
  expect(isDone).toBe(false);
  expect(to.read().toString()).toBe('{"a":1}\n');
  await written;
  const left = writer.write({ b: 2 });
  to.destroy();
  await left;
  await writer.closed;
  await writer.write({ c: 3 });
});

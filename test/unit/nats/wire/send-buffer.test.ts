/** What a turn sends leaves in one write, whole and in order. */
import { expect, test } from 'vitest';
import { slabBytes } from '../../../../src/nats/wire/frames.ts';
import { SendBuffer } from '../../../../src/nats/wire/send-buffer.ts';

function openBuffer() {
  const writes: Buffer[] = [];
  const buffer = new SendBuffer((bytes) => writes.push(bytes));
  return { buffer, texts: () => writes.map((it) => it.toString()) };
}

const turn = () => new Promise<void>((done) => setImmediate(done));

test('what a turn sends is one write, and nothing is written without need', async () => {
  const { buffer, texts } = openBuffer();
  buffer.push(20, 'PUB a 1\r\n', Buffer.from('x'), '\r\n');
  buffer.push(20, 'PUB ü 2\r\n', 'ü', '\r\n');
  expect(texts()).toEqual([]);
  await turn();
  expect(texts()).toEqual(['PUB a 1\r\nx\r\nPUB ü 2\r\nü\r\n']);
  await turn();
  buffer.push(4, 'c');
  await turn();
  expect(texts()).toHaveLength(2);
});

test('a flush writes at once, and the turn then has nothing left to write', async () => {
  const { buffer, texts } = openBuffer();
  buffer.push(4, 'a');
  buffer.flush();
  expect(texts()).toEqual(['a']);
  await turn();
  expect(texts()).toEqual(['a']);
  buffer.flush();
  expect(texts()).toEqual(['a']);
});

test('what was written stays as it was, and no command is cut', async () => {
  const { buffer, texts } = openBuffer();
  const commands = Array.from(
    { length: 40 },
    (_, index) => `${String(index).padStart(2, '0')} ${'x'.repeat(5_000)}\r\n`,
  );
  for (const command of commands) buffer.push(command.length, command);
  await turn();
  expect(texts().join('')).toBe(commands.join(''));
  for (const write of texts()) expect(write).toMatch(/^\d\d [\s\S]*\r\n$/);
  expect(texts().length).toBe(Math.ceil(commands.length / Math.floor(slabBytes / 5_005)));
});

test('a command larger than a slab leaves whole', async () => {
  const { buffer, texts } = openBuffer();
  const large = 'y'.repeat(3 * slabBytes);
  buffer.push(1, 'a');
  buffer.push(large.length, large);
  buffer.push(1, 'b');
  await turn();
  expect(texts()).toEqual(['a', large, 'b']);
});

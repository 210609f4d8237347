/** Headers of messages, read by our own code: as by the library, but in one pass, and never with an error. */
import { MsgHdrsImpl } from '@nats-io/nats-core/internal';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const byLibrary = MsgHdrsImpl.decode;
const { decodeHeaders } = await import('../../../src/nats/client-library.ts');

const line = fc.oneof(
  fc.tuple(fc.constantFrom('A', 'a', 'Nats-Msg-Id', ''), fc.string({ unit: 'binary' })).map((pair) => pair.join(':')),
  fc.string({ unit: 'binary' }),
);
const status = fc.constantFrom('NATS/1.0', 'NATS/1.0 503', 'NATS/1.0 404 No Messages', 'NATS/1.0  x', 'HTTP', '');

test('headers are those of the library, wherever it can read them', () => {
  fc.assert(
    fc.property(status, fc.array(line, { maxLength: 6 }), fc.constantFrom('', '\r\n\r\n'), (first, lines, end) => {
      const block = Buffer.from([first, ...lines].join('\r\n') + end);
      const read = decodeHeaders(block);
      try {
        expect(read).toEqual(byLibrary(block));
      } catch (error) {
        expect(error).toHaveProperty('name', 'InvalidArgumentError');
      }
    }),
  );
});

test('what cannot be a header is left out, and the others count', () => {
  const read = decodeHeaders(Buffer.from('NATS/1.0\r\na b: 1\r\nü: 2\r\nA: 3\r\nA: x\ny\r\nA: 4\r\n\r\n'));
  expect([...read]).toEqual([['A', ['3', '4']]]);
});

test('the library reads by it too: messages of each connection, and those of a stream', () => {
  expect(MsgHdrsImpl.decode).toBe(decodeHeaders);
});

test('a hundred thousand names are one pass, not a search among all of them for each', () => {
  const block = Buffer.from(
    `NATS/1.0\r\n${Array.from({ length: 100_000 }, (_, count) => `A${count}: b`).join('\r\n')}\r\n\r\n`,
  );
  expect(decodeHeaders(block).size()).toBe(100_000);
});

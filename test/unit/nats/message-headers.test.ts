/** Untrusted headers are read like the library does, but without its parser. */
import type { Msg, MsgHdrs } from '@nats-io/nats-core';
import { headers, MsgImpl, Parser } from '@nats-io/nats-core/internal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toHeaders } from '../../../src/nats/log/log-submitter.ts';
import { createHeaderReader, statusOf } from '../../../src/nats/message-headers.ts';

type Pushed = { readonly msg?: object; readonly data?: Uint8Array };

/** Parses a raw NATS message with the library. */
function receive(subject: string, reply: string, head: Uint8Array, payload: Uint8Array): Msg {
  const received: Msg[] = [];
  const take = ({ msg, data }: Pushed) => {
    if (msg !== undefined) received.push(new MsgImpl(msg as never, data as Uint8Array, {} as never) as Msg);
  };
  const [kind, sizes] =
    head.length > 0 ? ['HMSG', `${head.length} ${head.length + payload.length}`] : ['MSG', payload.length];
  const line = `${kind} ${subject} 1 ${reply} ${sizes}\r\n`;
  const bytes = Buffer.concat([Buffer.from(line), head, payload, Buffer.from('\r\n')]);
  new Parser({ push: take } as never).parse(Uint8Array.from(bytes));
  const [message] = received;
  if (message === undefined) throw new Error('no message');
  return message;
}

const encode = (h: MsgHdrs) => (h as MsgHdrs & { encode(): Uint8Array }).encode();
const blockOf = (lines: readonly string[]) => Buffer.from(`NATS/1.0\r\n${lines.join('\r\n')}\r\n\r\n`);
const many = Array.from({ length: 7_000 }, (_, count) => `A${count}: b`);
const value = fc.string({ unit: 'binary' }).filter((text) => !/[\r\n]/.test(text));
const name = fc.constantFrom('Nats-Msg-Id', 'nats-msg-id', 'X-Nats-Msg-Id', 'Stopgate-Reply', 'Stopgate-Replica');
const given = fc.array(fc.tuple(name, value), { maxLength: 6 });
const payload = fc.uint8Array({ maxLength: 60 });
const subject = fc.constantFrom('stopgate.main.worker.w1.stop.attempted', 'stopgate.main.worker.ü.tool.used');

describe('a header', () => {
  test('has the same value as in the library, whatever was published', () => {
    fc.assert(
      fc.property(subject, given, payload, (at, pairs, data) => {
        const h = headers();
        for (const [key, text] of pairs) h.append(key, text);
        const message = receive(at, '$JS.ACK.S.C.1.1.1.1.0', pairs.length === 0 ? Buffer.of() : encode(h), data);
        const read = createHeaderReader(message, message.data);
        for (const key of ['Nats-Msg-Id', 'Stopgate-Reply', 'Stopgate-Replica', 'Absent'])
          expect(read(key)).toBe(message.headers?.get(key) || undefined);
      }),
    );
  });

  test('is not found in the value of another header', () => {
    const head = Buffer.from('NATS/1.0\r\nX: a\nNats-Msg-Id: theirs\r\nNats-Msg-Id: ours\r\n\r\n');
    const message = receive('stopgate.main.worker.w1.tool.used', '$JS.ACK.S.C.1.1.1.1.0', head, Buffer.of(1));
    expect(createHeaderReader(message, message.data)('Nats-Msg-Id')).toBe('ours');
  });

  test.each(
    Object.entries({
      'as written by any client': [encode(toHeaders({ messageId: 'w1:a1' })), 'w1:a1'],
      'with 7,000 names': [blockOf([...many, 'Nats-Msg-Id: x']), 'x'],
      'with an invalid name': [blockOf(['a b: 1', 'Nats-Msg-Id: x']), 'x'],
      'with 7,000 names and truncated': [blockOf(['Nats-Msg-Id: x', ...many]).subarray(0, -2), undefined],
    } as const),
  )('is never parsed by the library: %s', (_what, [head, expected]) => {
    const message = receive('stopgate.main.decision.w1', '$JS.ACK.S.C.1.1.1.1.0', head, Buffer.of(1));
    Object.defineProperty(message, 'headers', { get: () => expect.unreachable() });
    expect(createHeaderReader(message)('Nats-Msg-Id')).toBe(expected);
    expect(statusOf(message)).toBe(0);
  });

  test('is read by the library if the payload was copied; what the library cannot parse counts as absent', () => {
    const copy = new Uint8Array(200).fill(0x78).subarray(100, 101);
    const read = (head: Uint8Array) =>
      createHeaderReader(receive('stopgate.main.decision.w1', '', head, Buffer.of(1)), copy)('Nats-Msg-Id');
    expect(read(blockOf(['Nats-Msg-Id: w1:a1']))).toBe('w1:a1');
    expect(read(blockOf(['a b: 1', 'Nats-Msg-Id: w1:a1']))).toBeUndefined();
    expect(read(blockOf([...many, 'Nats-Msg-Id: w1:a1']))).toBeUndefined(); // it would take half a second
  });

  test.each(['a\r\nB: c', 'a\nb', 'a\rb'])('must not contain a line break: %j', (text) => {
    expect(() => toHeaders({ messageId: text })).toThrow('cannot contain');
    expect(() => toHeaders({ replica: text })).toThrow('cannot contain');
    expect(() => toHeaders({ trace: { tracestate: text } })).toThrow('cannot contain');
  });
});

test('the status is read from the first line', () => {
  const message = (head: string) => receive('_INBOX.a', '', Buffer.from(head), Buffer.of());
  expect(statusOf(message('NATS/1.0 503\r\n\r\n'))).toBe(503);
  expect(statusOf(message('NATS/1.0 409 Message Size Exceeds MaxBytes\r\n\r\n'))).toBe(409);
  expect(statusOf(message('NATS/1.0\r\nX: 503\r\n\r\n'))).toBe(0);
  expect(statusOf(receive('_INBOX.a', '', Buffer.of(), Buffer.of()))).toBe(0);
});

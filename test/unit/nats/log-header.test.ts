/** Headers of entries, written and read in our own way: the same bytes, and the same values, as by the library's. */
import type { Msg, MsgHdrs } from '@nats-io/nats-core';
import { headers, MsgImpl, Parser } from '@nats-io/nats-core/internal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createHeaderReader } from '../../../src/nats/log/log-reader.ts';
import { toHeaders } from '../../../src/nats/log/log-submitter.ts';

type Pushed = { readonly msg?: object; readonly data?: Uint8Array };

/** The message as the library makes it of what a server sends. */
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
const value = fc.string({ unit: 'binary' }).filter((text) => !/[\r\n]/.test(text));
const name = fc.constantFrom('Nats-Msg-Id', 'nats-msg-id', 'X-Nats-Msg-Id', 'Stopgate-Reply', 'Stopgate-Replica');
const given = fc.array(fc.tuple(name, value), { maxLength: 6 });
const payload = fc.uint8Array({ maxLength: 60 });
const subject = fc.constantFrom('stopgate.main.worker.w1.stop.attempted', 'stopgate.main.worker.ü.tool.used');

describe('a header', () => {
  test('reads as by the library, whatever was published', () => {
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

  test('is none where its name stands in the value of another', () => {
    const head = Buffer.from('NATS/1.0\r\nX: a\nNats-Msg-Id: theirs\r\nNats-Msg-Id: ours\r\n\r\n');
    const message = receive('stopgate.main.worker.w1.tool.used', '$JS.ACK.S.C.1.1.1.1.0', head, Buffer.of(1));
    expect(createHeaderReader(message, message.data)('Nats-Msg-Id')).toBe('ours');
  });

  test('does not need the library to make its map, if the message is as it came', () => {
    const message = receive(
      'stopgate.main.decision.w1',
      '$JS.ACK.S.C.1.1.1.1.0',
      encode(toHeaders({ messageId: 'w1:a1' })),
      Buffer.of(1),
    );
    Object.defineProperty(message, 'headers', { get: () => expect.unreachable() });
    expect(createHeaderReader(message, message.data)('Nats-Msg-Id')).toBe('w1:a1');
  });

  test('reads by the library, if the payload is a copy', () => {
    const message = receive('stopgate.main.decision.w1', '', encode(toHeaders({ messageId: 'w1:a1' })), Buffer.of(1));
    const copy = new Uint8Array(200).fill(0x78).subarray(100, 101);
    expect(createHeaderReader(message, copy)('Nats-Msg-Id')).toBe('w1:a1');
  });

  test('is written as by the library', () => {
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b' };
    const h = headers();
    h.append('Nats-Msg-Id', 'w1:ü');
    h.append('Stopgate-Replica', 'r1');
    for (const [key, text] of Object.entries(trace)) h.append(key, text);
    expect([...encode(toHeaders({ messageId: 'w1:ü', replica: 'r1', trace }))]).toEqual([...encode(h)]);
  });

  test.each(['a\r\nB: c', 'a\n', '\r'])('has no line break: %j', (text) => {
    expect(() => toHeaders({ messageId: text })).toThrow('one line');
    expect(() => toHeaders({ replica: text })).toThrow('one line');
    expect(() => toHeaders({ trace: { tracestate: text } })).toThrow('one line');
  });
});

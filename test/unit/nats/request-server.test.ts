/** The NATS request server, on a fake connection that records what is published. */
import { headers, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/nats-core';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/log.ts';
import { isReplySubject } from '../../../src/nats/connection.ts';
import { openRequestServer } from '../../../src/nats/request-server.ts';

type Handle = (error: Error | null, message: Msg) => void;
type Published = { readonly subject: string; readonly text: string; readonly isStart: boolean };

function openFake() {
  const handlers = new Map<string, Handle>();
  const published: Published[] = [];
  const nc = {
    subscribe(subject: string, { callback }: { callback: Handle }) {
      handlers.set(subject, callback);
      return { unsubscribe: () => void handlers.delete(subject) };
    },
    publish(subject: string, data: Uint8Array | string, options?: { headers?: MsgHdrs }) {
      const isStart = options?.headers?.get('Stopgate-Started') === 'true';
      published.push({ subject, text: Buffer.from(data).toString(), isStart });
    },
  } as unknown as NatsConnection;
  const ask = (subject: string, reply: string, more?: MsgHdrs) => {
    const data = Buffer.from('{}');
    const message = { subject, reply, data, headers: more, string: () => '{}' } as unknown as Msg;
    for (const [pattern, handle] of handlers)
      if (subject.startsWith(pattern.replace('>', '')) || subject === pattern) handle(null, message);
  };
  return { nc, published, ask };
}

test('the start of a request is announced only to requesters that ask for it', async () => {
  const { nc, published, ask } = openFake();
  const server = openRequestServer({
    nc,
    service: { name: 's', description: 'd', group: 'g' },
    id: 'i',
    version: '0.0.0',
    log: createLogger('silent'),
  });
  server.serve([
    {
      name: 'run',
      subject: 'run',
      handle({ started, tail }, respond) {
        started();
        respond({ tail });
      },
    },
  ]);
  ask('run.a', 'inbox.plain');
  const wanted = headers();
  wanted.set('Stopgate-Started', 'wanted');
  ask('run.b', 'inbox.asking', wanted);
  await expect.poll(() => published.length).toBeGreaterThanOrEqual(3);
  expect(published).toEqual([
    { subject: 'inbox.plain', text: '{"tail":"a"}', isStart: false },
    { subject: 'inbox.asking', text: '', isStart: true },
    { subject: 'inbox.asking', text: '{"tail":"b"}', isStart: false },
  ]);
  expect(server.open()).toBe(0);
  server.close();
});

test.each([
  ['_INBOX.a.b', true],
  ['a', true],
  ['x'.repeat(1_024), true],
  ['x'.repeat(1_025), false],
  ['é'.repeat(512), true],
  ['é'.repeat(513), false],
  ['', false],
  ['a.*', false],
  ['a.>', false],
  ['a b', false],
  ['a\r\nPUB b 0', false],
  ['a..b', false],
  ['.a', false],
  ['a.', false],
])('a reply may be published to %j: %s', (subject, isReply) => {
  expect(isReplySubject(subject)).toBe(isReply);
});

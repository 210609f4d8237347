/** Webhooks are signed, and repeated as long as that may help. */
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Notice } from '../../../src/host/effects/notices.ts';
import { createLogger } from '../../../src/log.ts';
import { createWebhook, type WebhookOptions } from '../../../src/notify/webhook.ts';
import { openReceiver, type Receiver } from '../../support/receiver.ts';

/** A busy machine may need a while. */
const eventually = <T>(read: () => T) => expect.poll(read);

let receiver: Receiver;
let outcomes: string[];
beforeEach(async () => {
  receiver = await openReceiver();
  outcomes = [];
});
afterEach(() => receiver.close());

const notice: Notice = {
  v: 1,
  kind: 'escalation',
  link: null,
  agent: null,
  cwd: null,
  fleet: 'main',
  entity: 'worker',
  id: 'w1',
  since: '2026-03-02T12:00:00.000Z',
  reason: 'It needs a key – now',
  cause: 'escalated',
  attempt: 'a1',
  sentence: 'Which key?',
  missing: ['a person resumes it, or lets it stop'],
  reminder: 0,
  delivery: 'main/worker/w1/4/x/1',
};
const never = new AbortController().signal;
const create = (options: Partial<WebhookOptions> = {}) =>
  createWebhook({
    url: receiver.url,
    secret: 'of the test',
    clock: () => 1_772_452_800_500,
    pauseMs: 1,
    logger: createLogger('silent'),
    count: (outcome) => void outcomes.push(outcome),
    ...options,
  });

test('posts the notice as JSON, with its delivery, a time stamp and a signature of both', async () => {
  await create()(notice, never);
  expect(outcomes).toEqual(['delivered']);
  const [{ headers, text, body } = { headers: {}, text: '', body: {} }] = receiver.received;
  expect(body).toEqual(notice);
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'stopgate-delivery': notice.delivery,
    'stopgate-timestamp': '1772452800',
    'stopgate-signature': `sha256=${createHmac('sha256', 'of the test').update(`1772452800.${text}`).digest('hex')}`,
  });
});

test('without a secret it is unsigned', async () => {
  await create({ secret: null })(notice, never);
  expect(receiver.received[0]?.headers).not.toHaveProperty('stopgate-signature');
});

test('a user and password in the URL go into a header', async () => {
  await create({ url: receiver.url.replace('//', '//ann:s%3A1@') })(notice, never);
  expect(receiver.received[0]?.headers.authorization).toBe(`Basic ${Buffer.from('ann:s:1').toString('base64')}`);
});

test.each([500, 503, 429])('status %d: the same delivery is repeated until it is accepted', async (status) => {
  receiver.answer((response, count) => void response.writeHead(count < 3 ? status : 204).end());
  await create()(notice, never);
  expect(outcomes).toEqual(['retried', 'retried', 'delivered']);
  expect(receiver.received.map(({ headers }) => headers['stopgate-delivery'])).toEqual(Array(3).fill(notice.delivery));
});

test('a receiver that fails for long is retried until it accepts, and waiting notices are counted', async () => {
  receiver.answer((response, count) => void response.writeHead(count < 8 ? 503 : 204).end());
  const waiting: number[] = [];
  await create({ onWaiting: (change) => waiting.push(change) })(notice, never);
  expect(outcomes).toEqual([...Array(7).fill('retried'), 'delivered']);
  expect(waiting).toEqual(Array(7).fill([1, -1]).flat());
});

test.each([400, 401, 404, 410])('status %d is final: it is not repeated', async (status) => {
  receiver.answer(status);
  await expect(create()(notice, never)).rejects.toThrow(`the receiver answered ${status}`);
  expect(receiver.received).toHaveLength(1);
  expect(outcomes).toEqual(['failed']);
});

test('a redirect is not followed', async () => {
  const elsewhere = await openReceiver();
  receiver.answer((response) => void response.writeHead(307, { location: elsewhere.url }).end());
  await expect(create()(notice, never)).rejects.toThrow('redirects are not followed');
  expect([receiver.received.length, elsewhere.received.length]).toEqual([1, 0]);
  await elsewhere.close();
});

test('a receiver that hangs is retried after a timeout', async () => {
  receiver.answer((response, count) => void (count > 1 && response.end()));
  await create({ timeoutMs: 300 })(notice, never);
  expect(outcomes).toEqual(['retried', 'delivered']);
});

test('of an endless answer only the status counts', async () => {
  receiver.answer((response) => void response.writeHead(200).write('…'));
  await create()(notice, never);
  expect(outcomes).toEqual(['delivered']);
});

test('it ends at once when it is no longer needed', async () => {
  receiver.answer(() => {});
  const abort = new AbortController();
  const sent = create()(notice, abort.signal);
  await eventually(() => receiver.received.length).toBe(1);
  abort.abort();
  await expect(sent).rejects.toThrow('abort');
  expect(outcomes).toEqual([]);
});

test('a missing receiver is a temporary error', async () => {
  const { url } = receiver;
  await receiver.close();
  const abort = new AbortController();
  const sent = create({ url, count: (outcome) => outcomes.push(outcome) === 2 && abort.abort() })(notice, abort.signal);
  await expect(sent).rejects.toThrow();
  expect(outcomes).toEqual(['retried', 'retried']);
  receiver = await openReceiver();
});

test.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1'])(
  'a private address, written as %s, is refused at the connection and not retried',
  async (host) => {
    const url = receiver.url.replace('127.0.0.1', host);
    await expect(create({ url, reach: 'public' })(notice, never)).rejects.toThrow('has a private address');
    expect([outcomes, receiver.received]).toEqual([['failed'], []]);
  },
);

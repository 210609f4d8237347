/** Connections to a real server: reconnects, failing callbacks and malformed messages. */
import type { NatsConnection, PublishOptions } from '@nats-io/nats-core';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createBus } from '../../../src/nats/bus.ts';
import { type OnCallbackError, openConnection, subscribe } from '../../../src/nats/connection.ts';
import { openNats } from '../../support/shared-server.ts';

const opened: NatsConnection[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const nc of opened.splice(0)) await nc.close();
});

/** Borrows a server for one test. It is returned when the connections are closed. */
async function borrow() {
  const server = await openNats();
  onTestFinished(() => server.stop());
  return server;
}

async function open(url: string, onFault?: OnCallbackError) {
  const nc = await openConnection({ url, name: 'test', patient: true, onFault });
  opened.push(nc);
  return nc;
}

test('a connection reconnects even if the system clock was set back', async () => {
  const server = await openNats({});
  onTestFinished(() => server.stop());
  const nc = await open(server.url);
  const hourMs = 3_600_000;
  await server.kill();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - hourMs });
  await server.restart();
  await expect.poll(() => nc.flush().then(() => true)).toBe(true);
});

test('an error in a callback is reported, and the next message is handled', async () => {
  const server = await borrow();
  const faults: unknown[] = [];
  const nc = await open(server.url, (error, subject) => faults.push([String(error), subject]));
  const seen: string[] = [];
  subscribe(nc, 'a.*', (_error, message) => {
    seen.push(message.string());
    if (message.string() === 'bad') throw new Error('a bug');
  });
  for (const text of ['bad', 'good']) nc.publish('a.b', text);
  await nc.flush();
  expect(seen).toEqual(['bad', 'good']);
  expect(faults).toEqual([['Error: a bug', 'a.b']]);
});

test('a reply with malformed headers is accepted, and the connection survives', async () => {
  const server = await borrow();
  const [nc, other] = [await open(server.url), await open(server.url)];
  // NATS clients refuse to write such a header name, so the test bypasses the library.
  const malformed = { headers: { encode: () => Buffer.from('NATS/1.0\r\na b: c\r\n\r\n') } };
  subscribe(other, 'asked', (_error, message) => void message.respond('', malformed as unknown as PublishOptions));
  await other.flush();
  const heard: string[] = [];
  void (async () => {
    for await (const { type } of nc.status()) heard.push(type);
  })();
  expect(await createBus(nc, nc, []).request('asked', '', 10_000)).toBe('');
  await nc.flush();
  expect(heard).toEqual([]);
});

test('a process cannot connect over TCP and WebSocket at the same time', async () => {
  const server = await borrow();
  const nc = await open(server.url);
  await expect(open('ws://127.0.0.1:1')).rejects.toMatchObject({
    code: 'input.bad',
    message: expect.stringContaining('is already connected to NATS over TCP'),
  });
  await nc.close();
  await expect(open('ws://127.0.0.1:1')).rejects.toMatchObject({ code: 'service.unreachable' });
  await open(server.url);
});

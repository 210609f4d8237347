/** A graceful close: running requests finish, and idle connections do not delay it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { ask } from './request.ts';
import { createGate, useServer } from './server-fixture.ts';

const http = useServer();

test('stops listening and lets a running request finish, even on a keep-alive connection', async () => {
  const held = createGate();
  http.service.pause = held.promise;
  const patient = await http.open({ closeTimeoutMs: 20_000 });
  const running = fetch(`${patient.url}/api/main/decide/w1`, { method: 'POST' });
  await expect.poll(() => http.service.requests).toHaveLength(1);
  const closed = patient.close();
  await expect(ask(patient.url, '/healthz')).rejects.toMatchObject({ code: expect.stringMatching(/^ECONN/) });
  held.resolve();
  expect((await running).status).toBe(200);
  await closed;
});

test('does not wait for a connection without a request', async () => {
  const patient = await http.open({ closeTimeoutMs: 20_000 });
  const socket = connect(Number(new URL(patient.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.resume();
  await Promise.all([once(socket, 'close'), patient.close()]);
});

test('cuts requests that exceed the timeout', async () => {
  const held = createGate();
  http.service.pause = held.promise;
  const hasty = await http.open({ closeTimeoutMs: 20 });
  const cut = expect(ask(hasty.url, '/api/main/decide/w1', { body: {} })).rejects.toMatchObject({
    code: 'ECONNRESET',
  });
  await expect.poll(() => http.service.requests).toHaveLength(1);
  await hasty.close();
  await cut;
  held.resolve();
});

test('can be called twice', async () => {
  await Promise.all([http.server.close(), http.server.close()]);
});

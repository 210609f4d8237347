/** `/inspect` as a WebSocket: what XState apps send reaches those who watch, and nobody can make the service hold much. */
import { once } from 'node:events';
import { createWebSocketInspector, createWebSocketReceiver } from '@statelyai/inspect';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { createActor, createMachine } from 'xstate';
import { type AccessToken, hashOfToken } from '../../../src/config/access-tokens.ts';
import { directoryOf } from '../../../src/http/fleet-directory.ts';
import { openHttpServer } from '../../../src/http/server.ts';
import { createLogger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(async () => stage.close());

const urlOf = (http: string) => `${http.replace('http', 'ws')}/inspect`;
const url = () => urlOf(stage.http.url);
const open = async (at = url(), headers: Record<string, string> = {}) => {
  const socket = new WebSocket(at, { headers });
  const texts: string[] = [];
  socket.on('message', (data) => texts.push(String(data)));
  await once(socket, 'open');
  onTestFinished(() => socket.terminate());
  return { socket, texts };
};
const frame = (sessionId: string, fields: object = {}) =>
  JSON.stringify({ type: '@xstate.actor', _version: '0.7.2', sessionId, ...fields });
const sessionsOf = (texts: readonly string[]) => texts.map((text) => JSON.parse(text).sessionId);

test("the package's own inspector sends here, and its own receiver gets each actor and its steps, even if it comes late", async () => {
  const inspector = createWebSocketInspector({ url: url() });
  onTestFinished(() => inspector.adapter.stop?.());
  const machine = createMachine({ id: 'light', initial: 'green', states: { green: { on: { go: 'red' } }, red: {} } });
  const actor = createActor(machine, { inspect: inspector.inspect }).start();
  const early: string[] = [];
  createWebSocketReceiver({ server: url() }).subscribe(({ type }) => early.push(type));
  await expect.poll(() => early).toContain('@xstate.actor');
  actor.send({ type: 'go' });
  await expect.poll(() => early).toContain('@xstate.snapshot');
  const late: string[] = [];
  createWebSocketReceiver({ server: url() }).subscribe((it) => late.push(`${it.type} ${Object(it).snapshot?.value}`));
  await expect.poll(() => late).toContain('@xstate.snapshot red');
  expect(late[0]).toMatch(/^@xstate.actor /);
});

test('what is no message of an inspector ends the connection with the reason, and reaches nobody', async () => {
  const watcher = await open();
  for (const bad of ['text', '{}', '[]', '{"type":"@xstate.actor","_version":"1"}']) {
    const { socket } = await open();
    socket.send(bad);
    const [code, reason] = await once(socket, 'close');
    expect([code, String(reason)]).toEqual([1008, expect.stringContaining('not a message of @statelyai/inspect')]);
  }
  const { socket } = await open();
  socket.send(frame('bad-ones-ended'));
  await expect.poll(() => sessionsOf(watcher.texts)).toContain('bad-ones-ended');
  expect(watcher.texts.filter((text) => !text.includes('sessionId'))).toEqual([]);
});

test('a message beyond 256 KiB ends the connection of its app alone', async () => {
  const [{ socket }, other] = [await open(), await open()];
  socket.send(frame('large', { name: 'x'.repeat(300_000) }));
  const [code] = await once(socket, 'close');
  expect(code).toBe(1009);
  expect(other.socket.readyState).toBe(WebSocket.OPEN);
});

test('the last 200 actors are kept for who comes later, and 8 MiB of them', async () => {
  const { socket } = await open();
  const watcher = await open();
  for (let at = 0; at < 300; at += 1) socket.send(frame(`many-${at}`));
  await expect.poll(() => sessionsOf(watcher.texts)).toContain('many-299');
  const late = await open();
  await expect.poll(() => late.texts.length).toBe(200);
  expect(sessionsOf(late.texts)).not.toContain('many-99');
  const name = 'x'.repeat(200_000);
  for (let at = 0; at < 60; at += 1) socket.send(frame(`wide-${at}`, { name }));
  await expect.poll(() => sessionsOf(watcher.texts)).toContain('wide-59');
  const later = await open();
  await expect.poll(() => sessionsOf(later.texts)).toContain('wide-59');
  expect(later.texts.length).toBe(Math.floor((8 * 1024 * 1024) / frame('wide-59', { name }).length));
});

test('with tokens, each sees its own apps alone', async () => {
  const tokenOf = (name: string): AccessToken => ({
    name,
    role: 'read',
    workers: null,
    fleets: null,
    hashes: [hashOfToken(`of-${name}`)],
  });
  const guarded = await openHttpServer({
    fleets: directoryOf(stage.replica),
    host: '127.0.0.1',
    port: 0,
    token: null,
    operatorToken: null,
    version: '0.0.0',
    tokens: () => ['ann', 'bob'].map(tokenOf),
    metrics: createMetrics(),
    log: createLogger('silent'),
  });
  onTestFinished(() => guarded.close());
  const as = (name: string) => open(urlOf(guarded.url), { authorization: `Bearer of-${name}` });
  const [app, ann, bob] = [await as('ann'), await as('ann'), await as('bob')];
  app.socket.send(frame('of-ann'));
  await expect.poll(() => sessionsOf(ann.texts)).toEqual(['of-ann']);
  const bobsOther = await as('bob');
  bobsOther.socket.send(frame('of-bob'));
  await expect.poll(() => sessionsOf(bob.texts)).toEqual(['of-bob']);
});

test('an app that sends to /inspect/ws, which only sends, is told where to send', async () => {
  const { socket } = await open(`${url()}/ws`);
  socket.send(frame('lost'));
  const [code, reason] = await once(socket, 'close');
  expect([code, String(reason)]).toEqual([1008, 'this address only sends; an XState app sends to /inspect']);
});

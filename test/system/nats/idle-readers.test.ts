/** Agents that subscribe but do not read, on a server with the embedded server's configuration. */
import { once } from 'node:events';
import { connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { agentsLimits, serverLimits } from '../../../src/nats/accounts.ts';
import { serverConfig } from '../../../src/nats/embedded/embedded-config.ts';
import { openLogReader } from '../../../src/nats/log/log-reader.ts';
import { roles } from '../../../src/nats/permissions.ts';
import { openNats } from '../../support/shared-server.ts';

const idleCount = 60;
const payload = new Uint8Array(60_000);
const payloadsOfRound = 20;
/** 70 MiB in total: more than socket buffers and `max_pending` together. */
const roundsMax = 60;

type Connection = { readonly pending_bytes: number };

async function openEmbeddedLike() {
  const credentials = Object.fromEntries(roles.map((role) => [role, { user: role, pass: `password-of-${role}` }]));
  const config = serverConfig({
    name: 'test',
    storeDir: tmpdir(),
    portsDir: tmpdir(),
    port: -1,
    fleet: 'main',
    credentials: credentials as never,
    storeBytesMax: 2 ** 30,
    version: [2, 9, 15],
  });
  // The test server uses its own folders.
  const { listen: _, ports_file_dir: __, jetstream, ...ours } = JSON.parse(config) as Record<string, object>;
  const server = await openNats({
    config: JSON.stringify({ ...ours, jetstream: { ...jetstream, store_dir: undefined } }),
  });
  onTestFinished(() => server.stop());
  const open = async (user?: string) => {
    const login = user === undefined ? {} : { user, pass: `password-of-${user}` };
    const nc = await connect({ servers: server.url, ...login, maxReconnectAttempts: 0 });
    onTestFinished(() => nc.close());
    return nc;
  };
  const report = async <Report>(path: string) => (await (await fetch(`${server.monitor}/${path}`)).json()) as Report;
  return { server, open, report };
}

/** Subscribes to all inboxes, and returns the first reply but reads no more. */
async function openIdle(port: number): Promise<string> {
  const socket = dial(port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'data');
  socket.write('CONNECT {"verbose":false}\r\nSUB _INBOX.> 1\r\nPING\r\n');
  const [answer] = await once(socket, 'data');
  socket.pause();
  return String(answer);
}

test('60 idle readers are disconnected, use at most 60 times max_pending, and do not affect others', async () => {
  const { server, open, report } = await openEmbeddedLike();
  const service = await open('service');
  const manager = await jetstreamManager(service);
  await manager.streams.add({ name: 'STOPGATE_main', subjects: ['stopgate.main.worker.>'] });
  const seqs: number[] = [];
  const reader = openLogReader(service, {
    stream: 'STOPGATE_main',
    fromSeq: 1,
    onMessage: ({ seq }) => void seqs.push(seq),
  });
  for (let count = 0; count < idleCount; count += 1) await openIdle(server.port);
  const attacker = await open();
  const honest = await open();
  const idle = async () => (await report<{ connections: Connection[] }>('connz')).connections.length - 3;
  let [largest, sum] = [0, 0];
  for (let round = 0; round < roundsMax && (await idle()) > 0; round += 1) {
    for (let count = 0; count < payloadsOfRound; count += 1) attacker.publish('_INBOX.x', payload);
    await attacker.flush();
    const pending = (await report<{ connections: Connection[] }>('connz')).connections.map((it) => it.pending_bytes);
    largest = Math.max(largest, ...pending);
    sum = Math.max(
      sum,
      pending.reduce((all, bytes) => all + bytes, 0),
    );
    await honest.request('stopgate.main.worker.w1.heartbeat.sent', '{}', { timeout: 10_000 });
  }
  expect(await idle()).toBe(0);
  expect(largest).toBeGreaterThan(0);
  // The message that exceeds the limit is counted, too.
  expect(largest).toBeLessThanOrEqual(serverLimits.max_pending + 2 * payload.length);
  expect(sum).toBeLessThanOrEqual(512 * 1_048_576);
  expect((await report<{ slow_consumers: number }>('varz')).slow_consumers).toBeGreaterThanOrEqual(idleCount);
  const { state } = await manager.streams.info('STOPGATE_main');
  await expect.poll(() => seqs.length).toBe(state.messages);
  expect([service, attacker, honest].map((nc) => nc.isClosed())).toEqual([false, false, false]);
  reader.close();
});

test('anonymous clients have a connection limit, and other roles can still connect', async () => {
  const { server, open } = await openEmbeddedLike();
  for (let count = 0; count < agentsLimits.max_connections; count += 1) await openIdle(server.port);
  expect(await openIdle(server.port)).toMatch(/maximum account active connections exceeded/i);
  await (await open('service')).flush();
});

/**
 * Compares the three replicas of a stream after one of its servers was killed repeatedly, using plain NATS, while
 * clients publish each message three times with the same message id:
 *
 *     node test/system/faults/peers.mjs PATH_OF_NATS_SERVER [ROUNDS [leader|follower]]
 *
 * Makes each server leader in turn and reads the stream. Prints how many messages differ, and which acknowledged
 * messages are gone or have another sequence than acknowledged.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

const [binary = 'nats-server', rounds = '8', victim = 'leader'] = process.argv.slice(2);
const names = ['n1', 'n2', 'n3'];
const [publishersCount, copies, stream] = [4, 3, 'PEERS'];

const home = await mkdtemp(join(tmpdir(), 'stopgate-peers-'));
const running = new Map();
let ended = false;
process.once('exit', () => {
  for (const child of running.values()) child.kill('SIGKILL');
});

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
async function until(what, find, timeoutMs = 60_000) {
  for (const endMs = performance.now() + timeoutMs; ; ) {
    const found = await Promise.resolve(find()).catch(() => null);
    if (found) return found;
    if (performance.now() > endMs) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await pause(200);
  }
}

const ports = new Map();
for (const name of names) ports.set(name, { client: await freePort(), cluster: await freePort() });
const routes = names.map((name) => `nats://127.0.0.1:${ports.get(name).cluster}`).join(',');
function start(name) {
  const { client, cluster } = ports.get(name);
  const args = ['-n', name, '-a', '127.0.0.1', '-p', client, '-js', '-sd', join(home, name)];
  args.push('--cluster_name', 'peers', '--cluster', `nats://127.0.0.1:${cluster}`, '--routes', routes);
  running.set(name, spawn(binary, args.map(String), { stdio: 'ignore' }));
}
async function kill(name) {
  const child = running.get(name);
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** The acknowledged sequence of each message id. */
const acknowledged = new Map();
async function publishAll(js, publisher) {
  for (let number = 0; !ended; number += 1) {
    const id = `${publisher}-${number}`;
    const publish = () => js.publish(`${stream}.${publisher}`, id, { msgID: id, timeout: 2_000 }).catch(() => null);
    const ack = (await Promise.all(Array.from({ length: copies }, publish))).find((it) => it !== null);
    if (ack === undefined) await pause(50);
    else acknowledged.set(id, ack.seq);
  }
}

/** Reads message ids by sequence from the leader. */
async function read(manager) {
  const { state } = await manager.streams.info(stream);
  const held = new Map();
  const batch = 64;
  for (let from = state.first_seq; from <= state.last_seq; from += batch) {
    const seqs = Array.from({ length: Math.min(batch, state.last_seq - from + 1) }, (_, index) => from + index);
    const found = await Promise.all(seqs.map((seq) => manager.streams.getMessage(stream, { seq }).catch(() => null)));
    for (const message of found) if (message !== null) held.set(message.seq, message.header.get('Nats-Msg-Id'));
  }
  return held;
}

function report(peers) {
  const [[, base]] = peers;
  for (const [name, held] of peers) {
    const places = new Map([...held].map(([seq, id]) => [id, seq]));
    const all = [...acknowledged];
    const counts = {
      server: name,
      messages: held.size,
      twice: held.size - places.size,
      differing: [...base].filter(([seq, id]) => held.get(seq) !== id).length + Math.max(0, held.size - base.size),
      lost: all.filter(([id]) => !places.has(id)).length,
      elsewhere: all.filter(([id, seq]) => places.has(id) && places.get(id) !== seq).length,
    };
    process.stdout.write(`${JSON.stringify(counts)}\n`);
  }
}

try {
  for (const name of names) start(name);
  const servers = names.map((name) => `127.0.0.1:${ports.get(name).client}`);
  const nc = await until('a connection', () => connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 100 }));
  const manager = await until('JetStream', () => jetstreamManager(nc, { timeout: 5_000 }));
  const leader = () => until('a leader', async () => (await manager.streams.info(stream)).cluster?.leader);
  await until('the stream', async () => {
    const found = await manager.streams.info(stream).catch(() => null);
    return found ?? manager.streams.add({ name: stream, subjects: [`${stream}.>`], num_replicas: 3, discard: 'new' });
  });
  const publishers = Array.from({ length: publishersCount }, (_, index) => publishAll(jetstream(nc), `p${index}`));
  await pause(1_500);
  for (let round = 0; round < Number(rounds); round += 1) {
    const leading = await leader();
    const others = names.filter((name) => name !== leading);
    const name = victim === 'leader' ? leading : others[round % others.length];
    await kill(name);
    await pause(300);
    start(name);
    await pause(700);
  }
  ended = true;
  await Promise.all(publishers);
  await until('all are current', async () => {
    const { cluster } = await manager.streams.info(stream);
    return cluster.replicas.length === 2 && cluster.replicas.every(({ current, offline }) => current && !offline);
  });
  const peers = new Map();
  for (let tries = 0; peers.size < names.length && tries < 40; tries += 1) {
    const name = await leader();
    if (!peers.has(name)) peers.set(name, await read(manager));
    await nc.request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, '', { timeout: 5_000 }).catch(() => null);
    await pause(1_000);
  }
  report(peers);
  await nc.close();
} finally {
  for (const child of running.values()) child.kill('SIGKILL');
  await rm(home, { recursive: true, force: true, maxRetries: 3 });
}

/** The attacks of one round. None uses credentials; HTTP on loopback requires none. */
import { connect as dial, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { headers, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { hostilePayloads } from '../../support/hostile-payloads.ts';

export type Stage = {
  readonly nats: string;
  readonly http: string;
  /** A connection with the service's credentials, used only to poison what agents cannot reach. */
  readonly operator: NatsConnection;
};
export type Sent = { readonly sent: number; readonly failed: number };
export type Attacker = { readonly name: string; run(stage: Stage, round: number): Promise<Sent> };

/** Longer than requests wait during a flood. A request that hangs counts as failed, and the round continues. */
const httpTimeoutMs = 20_000;

export const attackers: readonly Attacker[] = [
  { name: 'HTTP posts: 16 MiB, deep, zipped, of no type', run: ({ http }) => post(http, hostilePosts()) },
  { name: 'hooks: 40 with 1 MB of metadata', run: ({ http }, round) => post(http, largeHooks(round)) },
  { name: 'hooks: 300 at once', run: ({ http }, round) => post(http, hookFlood(round)) },
  { name: 'NATS: 60 connections that do not read', run: idleReaders },
  { name: 'NATS: 200 invented workers with large plans', run: (stage, round) => overNats(stage, inventWorkers(round)) },
  { name: 'NATS: malformed subjects and payloads', run: (stage) => overNats(stage, malformed()) },
  { name: 'NATS: 100 message ids of 65 KB', run: (stage, round) => overNats(stage, longIds(round)) },
  { name: 'NATS: bytes that are no protocol', run: noProtocol },
];

type Post = { readonly path: string; readonly type: string; readonly body: string | Uint8Array; readonly zip?: true };

async function post(http: string, posts: readonly Post[]): Promise<Sent> {
  const answers = await Promise.all(
    posts.map(async ({ path, type, body, zip }) => {
      try {
        const response = await fetch(new URL(path, http), {
          method: 'POST',
          body: body as string,
          signal: AbortSignal.timeout(httpTimeoutMs),
          headers: { 'content-type': type, ...(zip ? { 'content-encoding': 'gzip' } : {}) },
        });
        await response.arrayBuffer();
        return response.ok;
      } catch {
        return false; // the server closes the connection if the body is too large
      }
    }),
  );
  return { sent: posts.length, failed: answers.filter((ok) => !ok).length };
}

const json = 'application/json';
const claude = '/hooks/claude';
const stop = (session: string, more: object = {}) =>
  JSON.stringify({ session_id: session, hook_event_name: 'Stop', cwd: '/', ...more });

function hostilePosts(): Post[] {
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  const many = `[${'0,'.repeat(2_000_000)}0]`;
  const large = JSON.stringify({ output: 'x'.repeat(16 * 1_048_576 - 100) });
  const decide = '/api/main/decide/hostile';
  return [
    ...Array.from({ length: 12 }, () => ({ path: claude, type: json, body: large })),
    ...[deep, many, '', 'no JSON', '[]', 'null', '{"session_id":{"__proto__":1}}'].flatMap((body) => [
      { path: claude, type: json, body },
      { path: decide, type: json, body },
    ]),
    { path: claude, type: json, body: gzipSync(Buffer.alloc(64 * 1_048_576)), zip: true },
    { path: decide, type: 'text/plain', body: '{}' },
    { path: '/hooks/nobody', type: json, body: '{}' },
    { path: `/api/main/decide/${'%2e%2e%2f'.repeat(100)}`, type: json, body: '{}' },
    { path: '/api/main/list/workers?limit=-1&after=%00', type: json, body: '{}' },
  ];
}

const largeHooks = (round: number): Post[] =>
  Array.from({ length: 40 }, (_, index) => ({
    path: claude,
    type: json,
    body: JSON.stringify({
      session_id: `large-${round % 50}-${index}`,
      hook_event_name: 'PostToolUse',
      cwd: '/',
      tool_name: 'Write',
      tool_input: { file_path: 'x'.repeat(100_000), content: 'x'.repeat(900_000) },
      tool_response: {},
    }),
  }));

const hookFlood = (round: number): Post[] =>
  Array.from({ length: 300 }, (_, index) => ({
    path: claude,
    type: json,
    body: stop(`flood-${round % 20}-${index}`),
  }));

/** Each returns its messages, in order. */
type Publication = { subject: string; payload?: string | Uint8Array; id?: string; status?: [number, string] };

async function overNats({ nats }: Stage, publications: Iterable<Publication>): Promise<Sent> {
  let [sent, failed] = [0, 0];
  const nc = await connect({ servers: nats, maxReconnectAttempts: 0 }).catch(() => null);
  if (nc === null) return { sent: 0, failed: 1 };
  for (const { subject, payload = '{}', id, status } of publications) {
    sent += 1;
    try {
      const h = status === undefined ? headers() : headers(...status);
      if (id !== undefined) h.set('Nats-Msg-Id', id);
      nc.publish(subject, payload, { headers: h });
      // The server reads only as fast as it stores.
      if (sent % 20 === 0) await nc.flush();
    } catch {
      failed += 1;
    }
  }
  await nc.flush().catch(() => (failed += 1));
  await nc.close().catch(() => undefined);
  return { sent, failed };
}

function* inventWorkers(round: number): Iterable<Publication> {
  const steps = Array.from({ length: 50 }, (_, index) => ({
    id: `${index}`,
    title: 'x'.repeat(1_000),
    status: 'pending',
  }));
  for (let index = 0; index < 200; index += 1) {
    const worker = `stopgate.main.worker.invented-${(round * 200 + index) % 4_000}`;
    yield { subject: `${worker}.worker.registered`, payload: '{"agent":"hostile"}' };
    yield { subject: `${worker}.plan.updated`, payload: JSON.stringify({ steps }) };
    yield { subject: `${worker}.stop.attempted`, payload: JSON.stringify({ attempt: `r${round}` }) };
  }
}

function* malformed(): Iterable<Publication> {
  const root = 'stopgate.main';
  for (const tail of ['worker', 'worker.w1', 'worker.w1.nothing', 'worker.w1.plan.updated.more', 'own.worker.w1.x.y'])
    yield { subject: `${root}.${tail}` };
  for (const id of ['__proto__', 'constructor', '%00', '\u202e', 'x'.repeat(3_000)])
    yield { subject: `${root}.worker.${id}.heartbeat.sent` };
  for (const payload of Object.values(hostilePayloads))
    for (const tail of [
      'worker.malformed.stop.attempted',
      'worker.malformed.plan.updated',
      'task.malformed.task.created',
    ])
      yield { subject: `${root}.${tail}`, payload };
  for (const status of [
    [100, 'Idle Heartbeat'],
    [408, 'Request Timeout'],
    [409, 'Consumer Deleted'],
  ] as const)
    yield { subject: `${root}.worker.malformed.heartbeat.sent`, payload: '', status: [...status] };
}

function* longIds(round: number): Iterable<Publication> {
  const pad = 'x'.repeat(65_000);
  for (let index = 0; index < 100; index += 1)
    yield { subject: 'stopgate.main.worker.long-ids.heartbeat.sent', id: `${round}-${index}-${pad}` };
}

/** The server disconnects them. Their memory use is tested in test/system/nats/idle-readers.test.ts. */
async function idleReaders({ nats, http }: Stage): Promise<Sent> {
  const { hostname, port } = new URL(nats);
  const idle = Array.from({ length: 60 }, () => openIdle(hostname, Number(port), 'SUB _INBOX.> 1\r\n'));
  const page = new URL(http);
  const streams = Array.from({ length: 10 }, () => {
    const socket = openIdle(page.hostname, Number(page.port));
    socket.write(`GET /api/main/stream HTTP/1.1\r\nHost: ${page.host}\r\n\r\n`);
    return socket;
  });
  const nc = await connect({ servers: nats, maxReconnectAttempts: 0 }).catch(() => null);
  const payload = new Uint8Array(60_000);
  for (let count = 0; count < 300 && nc !== null; count += 1) {
    nc.publish('_INBOX.x', payload);
    if (count % 20 === 0) await nc.flush().catch(() => undefined);
  }
  await nc?.close().catch(() => undefined);
  for (const socket of [...idle, ...streams]) socket.destroy();
  return { sent: 70, failed: nc === null ? 1 : 0 };
}

function openIdle(host: string, port: number, subscribe?: string): Socket {
  const socket = dial(port, host).on('error', () => {});
  if (subscribe !== undefined) socket.write(`CONNECT {"verbose":false}\r\n${subscribe}PING\r\n`);
  return socket.pause();
}

async function noProtocol({ nats }: Stage): Promise<Sent> {
  const { hostname, port } = new URL(nats);
  const texts = [
    'GET / HTTP/1.1\r\n\r\n',
    'PUB a 999999999999\r\n',
    'HPUB a 9 3\r\nabc\r\n',
    `SUB ${'a.'.repeat(9_000)}b 1\r\n`,
  ];
  const sockets = [...texts, '\0\0\0\0', 'CONNECT {"a":'.padEnd(8_000, '[')].map((text) => {
    const socket = dial(Number(port), hostname).on('error', () => {});
    socket.write(text);
    return socket.resume();
  });
  await Promise.race([Promise.all(sockets.map((it) => new Promise((done) => it.once('close', done)))), delay(500)]);
  for (const socket of sockets) socket.destroy();
  return { sent: sockets.length, failed: 0 };
}

/** Replicas (by default two shipped services), each behind its own TCP proxy, on one or three real NATS servers. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerView } from '../../../machines/index.ts';
import { openConnection } from '../../../src/nats/connection.ts';
import { openLogRange } from '../../../src/nats/log/log-range.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';
import { privateInboxPrefix } from '../../../src/nats/permissions.ts';
import { type Client, openClient } from '../../support/client.ts';
import { type Folder, makeFolder } from '../../support/deployment.ts';
import { type NatsServer, startNatsServer } from '../../support/nats-server.ts';
import { type Service, type StartService, serveShipped } from '../../support/service.ts';
import { openTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { freePorts } from './ports.ts';

export type Replica = { readonly name: string; readonly proxy: TcpProxy; service: Service | null };

export type Stage = {
  readonly servers: readonly NatsServer[];
  readonly replicas: readonly Replica[];
  readonly client: Client;
  start(replica: Replica): Promise<void>;
  http(): readonly string[];
  /**
   * Waits until all replicas are ready and show the same workers. @throws Error with the difference, after a timeout
   */
  agreed(): Promise<void>;
  log(): Promise<LogMessage[]>;
  close(): Promise<void>;
};

const failingConfig = `
policies:
  default:
    retries: 3
    checks: [{ command: fails, onError: escalate }]
commands:
  fails: { run: [sh, -c, 'exit 1'], cwd: '.' }
`;

export type StageOptions = {
  /** One element per NATS server. Default: one server. */
  readonly servers?: readonly { readonly port?: number; readonly args?: readonly string[] }[];
  readonly natsConfig?: string;
  readonly storeDir?: string;
  /** If set, the first replica runs an embedded server on this store, and must not be killed alone. */
  readonly embeddedStore?: string;
  readonly args?: readonly string[];
  /** Content of stopgate.yaml. */
  readonly config?: string;
  /** The names of the replicas. */
  readonly names?: readonly string[];
  /** How to start a service. Default: the shipped program. */
  readonly serve?: StartService;
};

export async function openStage({
  servers: given = [{}],
  natsConfig,
  storeDir,
  embeddedStore,
  args = [],
  config = failingConfig,
  names = ['ra', 'rb'],
  serve = serveShipped,
}: StageOptions = {}): Promise<Stage> {
  const folder: Folder = await makeFolder({ 'stopgate.yaml': config });
  const servers = await Promise.all(
    (embeddedStore === undefined ? given : []).map((it) =>
      startNatsServer({
        ...it,
        ...(natsConfig === undefined ? {} : { config: natsConfig }),
        ...(storeDir === undefined ? {} : { storeDir }),
      }),
    ),
  );
  const [embeddedPort = 0] = embeddedStore === undefined ? [] : await freePorts(1);
  const ports = embeddedStore === undefined ? servers.map(({ port }) => port) : [embeddedPort];
  const creds = embeddedStore === undefined ? undefined : join(embeddedStore, 'credentials', 'service.json');
  const replicas: Replica[] = [];
  for (const [index, name] of names.entries())
    replicas.push({ name, proxy: await openTcpProxy(ports[index % ports.length] as number), service: null });
  const start = async (replica: Replica) => {
    // The proxy leads to one server; in a cluster the replica also knows the others.
    const others = servers.length > 1 ? servers.map(({ url }) => url) : [];
    const nats = [`nats://127.0.0.1:${replica.proxy.port}`, ...others].join(',');
    const place =
      embeddedStore !== undefined && replica === replicas[0]
        ? ['--embedded', '--store', embeddedStore, '--port', String(ports[0])]
        : ['--nats', nats, ...(creds === undefined ? [] : ['--creds', creds])];
    const line = ['serve', ...place, '--http', '127.0.0.1:0', '--replica', replica.name, '--log-level', 'warn'];
    for (let tries = 0; ; tries += 1) {
      try {
        replica.service = await serve([...line, ...args], folder.path);
        return;
      } catch (error) {
        if (tries === 20) throw error;
        await sleep(500);
      }
    }
  };
  const http = () => replicas.flatMap(({ service }) => service?.ready.http ?? []);
  const end = async () => {
    for (const { service } of replicas.toReversed())
      await service?.kill(embeddedStore === undefined ? 'SIGKILL' : 'SIGTERM');
    for (const { proxy } of replicas) await proxy.close();
    for (const server of servers) await server.stop();
    await folder.remove();
  };
  try {
    for (const replica of replicas) await start(replica);
  } catch (error) {
    await end();
    throw error;
  }
  const url = ports.map((port) => `nats://127.0.0.1:${port}`).join(',');
  const client = await openClient(url);
  return {
    servers,
    replicas,
    client,
    start,
    http,
    agreed: () => agreed(http),
    log: () => readLog(url, creds),
    async close() {
      await client.close();
      await end();
    },
  };
}

const agreeMsMax = 30_000;

async function agreed(http: Stage['http']): Promise<void> {
  const untilMs = performance.now() + agreeMsMax;
  for (;;) {
    const found = await Promise.all(http().map(viewOf));
    if (found.length > 0 && found.every((it) => it === found[0] && it.startsWith('{'))) return;
    if (performance.now() > untilMs)
      throw new Error(`the replicas do not agree:\n${found.map((it) => it.slice(0, 2_000)).join('\n')}`);
    await sleep(250);
  }
}

/** The parts of a worker that do not change with time. */
async function viewOf(place: string): Promise<string> {
  try {
    const ready = await fetch(`${place}/readyz`, { signal: AbortSignal.timeout(30_000) });
    if (!ready.ok) return `not ready: ${await ready.text()}`;
    const reply = await fetch(`${place}/api/main/list/workers?limit=1000`, { signal: AbortSignal.timeout(30_000) });
    const { items } = (await reply.json()) as { items: WorkerView[] };
    return JSON.stringify(
      Object.fromEntries(
        items.map((it) => [it.worker, [it.state, it.retry, it.tasks, it.attempt, it.lastDecision, it.lastSeen]]),
      ),
    );
  } catch (error) {
    return `unreachable: ${(error as Error).message}`;
  }
}

async function readLog(url: string, credsFile: string | undefined): Promise<LogMessage[]> {
  const inboxPrefix = credsFile === undefined ? undefined : privateInboxPrefix;
  const nc = await openConnection({ url, credsFile, inboxPrefix, name: 'account', patient: false });
  const messages: LogMessage[] = [];
  for await (const batch of (await openLogRange(nc, 'STOPGATE_main', { fromSeq: 1 })).batches) messages.push(...batch);
  await nc.close();
  return messages;
}

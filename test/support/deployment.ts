/** `stopgate serve` with its own nats-server and folder, and a plain NATS client. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Client, openClient } from './client.ts';
import type { NatsServer, NatsServerOptions } from './nats-server.ts';
import { startReplica } from './replica.ts';
import { endService, type Service, type StartService, serveShipped, startService } from './service.ts';
import { openNats } from './shared-server.ts';

export type Folder = {
  /** Real path of a temporary folder. */
  readonly path: string;
  /** Writes a file, and creates its folders. @returns the absolute path */
  write(name: string, text: string): Promise<string>;
  remove(): Promise<void>;
};
export type Deployment = {
  readonly server: NatsServer;
  readonly folder: Folder;
  readonly client: Client;
  readonly service: Service;
  /** Address of its HTTP server. */
  readonly http: string;
  /** The service's log lines so far, parsed. */
  log(): Record<string, unknown>[];
  close(): Promise<void>;
};
export type DeploymentOptions = {
  /** Content of stopgate.yaml. Default: no file. */
  readonly config?: string;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly nats?: NatsServerOptions;
  /** How to start the service. Default: in this process. */
  readonly start?: StartService;
};

export async function makeFolder(files: Readonly<Record<string, string>> = {}): Promise<Folder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'stopgate-e2e-')));
  const write = async (name: string, text: string) => {
    const file = join(path, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    return file;
  };
  for (const [name, text] of Object.entries(files)) await write(name, text);
  return { path, write, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}

export async function deploy({
  config,
  args = [],
  env = {},
  nats,
  start = startService,
}: DeploymentOptions = {}): Promise<Deployment> {
  const folder = await makeFolder(config === undefined ? {} : { 'stopgate.yaml': config });
  const server = await openNats(nats);
  const closers: (() => Promise<unknown>)[] = [() => folder.remove(), () => server.stop()];
  const close = async () => {
    const results = [];
    for (const each of closers.splice(0).reverse()) results.push(await each().catch((cause: unknown) => cause));
    const failed = results.find((result) => result instanceof Error);
    if (failed !== undefined) throw failed;
  };
  try {
    const line = ['serve', '--nats', server.url, '--http', '127.0.0.1:0', ...args];
    const service = await start(line, folder.path, env);
    closers.push(() => endService(service));
    const client = await openClient(server.url);
    closers.push(() => client.close());
    return {
      server,
      folder,
      client,
      service,
      http: service.ready.http ?? '',
      log: () => linesOf(service.stderr()),
      close,
    };
  } catch (cause) {
    await close();
    throw cause;
  }
}

/** Counts the entries about workers. Others may be added by replicas at any time. */
export async function countEntries({ manager }: Client): Promise<number> {
  const { state } = await manager.streams.info('STOPGATE_main', { subjects_filter: 'stopgate.main.worker.>' });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
}

/** Parses JSON lines. Skips an incomplete first or last line. */
export function linesOf(text: string): Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as Record<string, unknown>];
    } catch {
      return [];
    }
  });
}

/** Two replicas of the shipped program on one server, `ra` and `rb`, which can be killed and restarted. */
export async function deployReplicas(config: string) {
  const folder = await makeFolder({ 'stopgate.yaml': config });
  const server = await openNats();
  const client = await openClient(server.url);
  const replicas = new Map<string, Service>();
  const start = async (name: string) => {
    const args = ['serve', '--nats', server.url, '--http', 'off', '--replica', name, '--log-level', 'warn'];
    replicas.set(name, await serveShipped(args, folder.path));
  };
  await start('ra');
  await start('rb');
  return {
    server,
    client,
    start,
    /** Sends SIGKILL and waits. */
    kill: async (name: string) => replicas.get(name)?.kill('SIGKILL'),
    async close() {
      for (const replica of replicas.values()) await replica.kill('SIGKILL');
      await client.close();
      await server.stop();
      await folder.remove();
    },
  };
}

/** A replica in this process, with its NATS server, a folder and a plain client. */
export async function deployReplica() {
  const server = await openNats();
  const client = await openClient(server.url);
  const folder = await makeFolder();
  const replica = await startReplica({ nats: server.url });
  return {
    server,
    client,
    folder,
    replica,
    async close() {
      await replica.close();
      await client.close();
      await server.stop();
      await folder.remove();
    },
  };
}

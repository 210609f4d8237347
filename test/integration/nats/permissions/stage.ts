/** An embedded server with clients of each role. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { readEnvironment } from '../../../../src/config/environment.ts';
import { createLogger } from '../../../../src/log.ts';
import { openConnection } from '../../../../src/nats/connection.ts';
import { type EmbeddedServer, openEmbeddedServer } from '../../../../src/nats/embedded/embedded-server.ts';
import type { Role } from '../../../../src/nats/permissions.ts';
import { keepRefusals, type RoleClient } from '../../../support/role-client.ts';

export const fleet = 'main';

export type Stage = {
  readonly server: EmbeddedServer;
  readonly service: RoleClient;
  /** The client without credentials. */
  readonly agent: RoleClient;
  /** Opens a connection that is closed with the stage. */
  connect(url: string, credsFile?: string): Promise<RoleClient>;
  connectAs(role: Role): Promise<RoleClient>;
  close(): Promise<void>;
};

/**
 * Starts an embedded server with the fleet's streams, and a fake service that replies to each request with its subject.
 */
export async function openStage(): Promise<Stage> {
  const storeDir = await mkdtemp(join(tmpdir(), 'stopgate-permissions-'));
  const server = await openEmbeddedServer({
    env: readEnvironment(),
    storeDir,
    port: 0,
    fleet,
    log: createLogger('silent'),
  });
  const open: NatsConnection[] = [];
  const connect = async (url: string, credsFile?: string) => {
    const client = keepRefusals(await openConnection({ url, credsFile, name: 'test', patient: false }));
    open.push(client.nc);
    return client;
  };
  const connectAs = (role: Role) => connect(server.url, server.credentials(role));
  const service = await connectAs('service');
  const agent = await connect(server.url);
  await createLog(service.nc);
  for (const verb of serviceVerbs) echo(service.nc, `stopgate.main.${verb}.>`, 'stopgate');
  await service.nc.flush();
  const close = async () => {
    await Promise.all(open.map((nc) => nc.close()));
    await server.close();
    await rm(storeDir, { recursive: true, force: true });
  };
  return { server, service, agent, connect, connectAs, close };
}

export const logStream = 'STOPGATE_main';
export const deadStream = 'STOPGATE-DEAD_main';
export const captured = ['worker', 'task', 'queue', 'own', 'decision'].map((head) => `stopgate.main.${head}.>`);
export const serviceVerbs = ['decide', 'probe', 'verify', 'evaluate', 'get', 'list'];

/** Resolves to the next message on a subject. */
export async function firstOn(nc: NatsConnection, subject: string): Promise<{ arrived: Promise<Msg> }> {
  const arrived = new Promise<Msg>((resolve, reject) => {
    const given = (error: Error | null, message: Msg) => (error === null ? resolve(message) : reject(error));
    nc.subscribe(subject, { max: 1, callback: given });
  });
  await nc.flush();
  return { arrived };
}

export const echo = (nc: NatsConnection, subject: string, queue: string) =>
  nc.subscribe(subject, { queue, callback: (_, message) => void message.respond(`answer to ${message.subject}`) });

export const forge = (error: Error | null, message: Msg) => void (error ?? message.respond('forged'));

export const ask = async ({ nc }: RoleClient, subject: string, body = '') =>
  (await nc.request(subject, body, { timeout: 30_000 })).string();

export async function createLog(nc: NatsConnection): Promise<void> {
  const { streams } = await jetstreamManager(nc);
  const kept = { storage: 'file', discard: 'new', deny_delete: true, deny_purge: true } as const;
  await streams.add({ ...kept, name: logStream, subjects: captured });
  await streams.add({ ...kept, name: deadStream, subjects: ['stopgate.main.dead.>'] });
}

/** Lists the subjects of all messages in a stream. */
export async function subjectsOf(nc: NatsConnection, stream: string): Promise<string[]> {
  const { state } = await (await jetstreamManager(nc)).streams.info(stream, { subjects_filter: '>' });
  return Object.keys(state.subjects ?? {});
}

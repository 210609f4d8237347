/**
 * Runs the topology of docker/cluster/compose.yaml as processes on loopback, with the commands of the file. Only
 * hosts, ports and folders are replaced.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { vi } from 'vitest';
import { parse } from 'yaml';
import { readEnvironment } from '../../../src/config/environment.ts';
import { refuseUntestedCluster } from '../../../src/nats/server-version.ts';
import type { Command } from '../../support/command.ts';
import { startShipped } from '../../support/shipped.ts';

/**
 * The reason why this machine's nats-server cannot be a node, or null. `npm run test:nightly` provides the newest one.
 */
export const noCluster: string | null = (() => {
  const { stdout } = spawnSync('nats-server', ['--version'], { encoding: 'utf8' });
  try {
    refuseUntestedCluster(/v(\d\S*)/.exec(stdout)?.[1] ?? '', 3);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
})();

/** undefined if it is not on the PATH. */
export const findProgram = (program: string) =>
  (readEnvironment().PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));

export const clusterFile = (name: string) => new URL(`../../../docker/cluster/${name}`, import.meta.url);
export const token = 'a-token-of-this-test';

type Compose = { readonly services: Readonly<Record<string, { readonly command?: readonly string[] }>> };
/** Local ports, by the port in the container. */
type Ports = Readonly<Record<string, number>>;

export type Member = { readonly name: string; readonly ports: Ports; end(signal?: NodeJS.Signals): Promise<void> };
export type Cluster = {
  readonly folder: string;
  readonly nats: readonly Member[];
  readonly stopgate: readonly Member[];
  /** Returns the command of a service in the file, with our hosts and ports. */
  commandOf(service: string): string[];
  /** Translates `host:port` of the file to an address on loopback. */
  toLoopback(text: string): string;
  close(): Promise<void>;
};

export async function openCluster(): Promise<Cluster> {
  const { services } = parse(await readFile(clusterFile('compose.yaml'), 'utf8'), { merge: true }) as Compose;
  const folder = await mkdtemp(join(tmpdir(), 'stopgate-cluster-'));
  const ports = new Map<string, Ports>();
  for (const name of Object.keys(services)) ports.set(name, await freePorts(['4222', '6222', '8222', '4280']));
  const toLoopback = (text: string) =>
    text.replaceAll(/\b([a-z]+-\d):(\d{4})\b/g, (whole, name: string, port: string) => {
      const found = ports.get(name)?.[port];
      return found === undefined ? whole : `127.0.0.1:${found}`;
    });
  const commandOf = (name: string) =>
    (services[name]?.command ?? []).map((text) =>
      toLoopback(text)
        .replace(/^\/data$/, join(folder, name))
        .replace('/etc/nats/nats.conf', clusterFile('../nats.conf').pathname)
        .replace(/^8222$/, String(ports.get(name)?.['8222']))
        .replace(/0\.0\.0\.0:(\d+)$/, (_all, port: string) => `127.0.0.1:${ports.get(name)?.[port]}`),
    );
  const members: Member[] = [];
  const close = async () => {
    for (const member of [...members].reverse()) await member.end();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  const named = (prefix: string) => Object.keys(services).filter((name) => name.startsWith(prefix));
  const portsOf = (name: string) => ports.get(name) as Ports;
  try {
    for (const name of named('nats-')) members.push(startNats(name, commandOf(name), portsOf(name)));
    for (const { ports: own } of members) await untilHealthy(`http://127.0.0.1:${own['8222']}/healthz`);
    await copyFile(clusterFile('stopgate.yaml'), join(folder, 'stopgate.yaml'));
    for (const name of named('stopgate-'))
      members.push(await startStopgate(name, commandOf(name), folder, portsOf(name)));
  } catch (error) {
    await close();
    throw error;
  }
  const of = (prefix: string) => members.filter(({ name }) => name.startsWith(prefix));
  return { folder, nats: of('nats-'), stopgate: of('stopgate-'), commandOf, toLoopback, close };
}

async function freePorts(names: readonly string[]): Promise<Ports> {
  const servers = names.map(() => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const found = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return Object.fromEntries(names.map((name, index) => [name, found[index] as number]));
}

function startNats(name: string, command: readonly string[], ports: Ports): Member {
  const listen = ['--addr', '127.0.0.1', '--port', String(ports['4222'])];
  return memberOf(name, ports, spawn('nats-server', [...command, ...listen], { stdio: 'ignore' }));
}

/** Restarts it while the cluster elects a leader, like `restart: unless-stopped`. */
async function startStopgate(name: string, command: readonly string[], cwd: string, ports: Ports): Promise<Member> {
  for (let tries = 1; ; tries += 1) {
    const started: Command = startShipped(['serve', ...command], { cwd, env: { STOPGATE_TOKEN: token } });
    const ready = started.printed(/^\{"ready":true.*\n/).then(() => true);
    const end = async (signal: NodeJS.Signals = 'SIGTERM') => void (await started.kill(signal));
    if (await ready.catch(() => false)) return { name, ports, end };
    if (tries === 10) throw new Error(`${name} does not start: ${started.stderr()}`);
  }
}

function memberOf(name: string, ports: Ports, child: ChildProcess): Member {
  return {
    name,
    ports,
    async end(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
    },
  };
}

/** Starts a program of this machine, such as Prometheus. */
export const startProgram = (
  name: string,
  program: string,
  args: readonly string[],
  log: 'ignore' | 'inherit' = 'ignore',
) => memberOf(name, {}, spawn(program, args, { stdio: ['ignore', log, log] }));

/** @throws Error after a minute */
export async function untilHealthy(url: string): Promise<void> {
  const check = async () => {
    const { status } = await fetch(url);
    if (status !== 200) throw new Error(`${url} answers ${status}`);
  };
  await vi.waitFor(check, { timeout: 60_000, interval: 100 });
}

/** Three NATS nodes with a replicated log. The stream leader and followers are killed in turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsServer } from '../../support/nats-server.ts';
import { type Fault, type Row, runFault } from './faults.ts';
import { freePorts } from './ports.ts';
import type { Stage, StageOptions } from './stage.ts';

/** The oldest version that supports `--replicas 3` (docs/operations/cluster.md). */
const clusterVersionMin = [2, 15];

/** Returns the options for a cluster of three, or the reason why it cannot be run. */
export async function clusterStage(): Promise<StageOptions | string> {
  const version = await serverVersion();
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < (clusterVersionMin[0] as number) || (major === 2 && minor < (clusterVersionMin[1] as number)))
    return `not run: nats-server ${version}; three nodes take ${clusterVersionMin.join('.')}`;
  const ports = await freePorts(3);
  const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(',');
  const servers = ports.map((port, index) => ({
    args: [
      '--cluster_name',
      'faults',
      '--server_name',
      `n${index}`,
      '--cluster',
      `nats://127.0.0.1:${port}`,
      '--routes',
      routes,
    ],
  }));
  return { servers, args: ['--replicas', '3'] };
}

/** Returns the reason if the fault cannot be run. */
export async function runCluster(isLong: boolean): Promise<Row | string> {
  const stage = await clusterStage();
  if (typeof stage === 'string') return stage;
  const name = 'three nodes: leader and followers killed';
  return runFault({ name, stage, times: [2, 12], run: killNode }, isLong);
}

let turn = 0;

async function leaderOf({ client, servers }: Stage) {
  const { cluster } = await client.manager.streams.info('STOPGATE_main');
  const leader = Number((cluster?.leader ?? 'n0').slice(1));
  return { leader, server: servers[leader] as NatsServer };
}

/** Kills the leader and a follower in turn. */
async function killNode(stage: Stage): Promise<void> {
  const { leader } = await leaderOf(stage);
  turn += 1;
  const server = stage.servers[turn % 2 === 1 ? leader : (leader + 1) % stage.servers.length];
  await server?.kill();
  await sleep(2_000);
  await server?.restart();
}

/** Makes another node the stream leader. */
async function stepDown({ client }: Stage): Promise<void> {
  await client.nc.request('$JS.API.STREAM.LEADER.STEPDOWN.STOPGATE_main', '', { timeout: 30_000 });
}

/** Suspends the leader until the others have elected a new one. It then continues as if it still led. */
async function stopLeader(stage: Stage): Promise<void> {
  const { server } = await leaderOf(stage);
  process.kill(server.pid, 'SIGSTOP');
  await sleep(12_000);
  process.kill(server.pid, 'SIGCONT');
}

/** Faults for the recording of histories. */
export const clusterFaults: readonly Pick<Fault, 'times' | 'run'>[] = [
  { times: [1, 5], run: stepDown },
  { times: [1, 5], run: stopLeader },
  { times: [2, 10], run: killNode },
];

async function serverVersion(): Promise<string> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve) => {
    execFile('nats-server', ['--version'], (_error, stdout) => resolve(/v([\d.]+)/.exec(stdout)?.[1] ?? '0.0'));
  });
}

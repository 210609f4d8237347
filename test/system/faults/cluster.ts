/** Three NATS nodes, the log on all of them, and each killed in turn: the leader of the log, then a follower. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Row, runFault } from './faults.ts';
import { freePorts } from './ports.ts';
import type { Stage } from './stage.ts';

/** Before it `--replicas 3` is refused (docs/operations.md). */
const clusterVersionMin = [2, 15];

/** A sentence where this server cannot be tried. */
export async function runCluster(isLong: boolean): Promise<Row | string> {
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
  return runFault(
    {
      name: 'three nodes: leader and followers killed',
      stage: { servers, args: ['--replicas', '3'] },
      times: [2, 12],
      run: killNode,
    },
    isLong,
  );
}

let turn = 0;

/** The leader, then a follower, and so on. */
async function killNode({ client, servers }: Stage): Promise<void> {
  const { cluster } = await client.manager.streams.info('STOPGATE_main');
  turn += 1;
  const leader = Number((cluster?.leader ?? 'n0').slice(1));
  const server = servers[turn % 2 === 1 ? leader : (leader + 1) % servers.length];
  await server?.kill();
  await sleep(2_000);
  await server?.restart();
}

async function serverVersion(): Promise<string> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve) => {
    execFile('nats-server', ['--version'], (_error, stdout) => resolve(/v([\d.]+)/.exec(stdout)?.[1] ?? '0.0'));
  });
}

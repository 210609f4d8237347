/** Faults of the disk: full and slow. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mountSmallDisk, type SmallDisk } from '../../support/small-disk.ts';
import { type Fault, type Row, runFault } from './faults.ts';
import type { Stage } from './stage.ts';

/** Size of the disk. The log has a few thousand entries. */
const diskMegabytes = 48;
const noticeMsMax = 30_000;

/** Fills the disk and empties it again. Returns the reason if that cannot be run. */
export async function runFullDisk(isLong: boolean, server: 'own' | 'embedded'): Promise<Row | string> {
  const disk = mountSmallDisk(diskMegabytes);
  if (disk === null) return 'not run: only root may mount a small file system';
  const store = join(disk.path, 'store');
  try {
    const stage = server === 'own' ? { storeDir: store } : { embeddedStore: store };
    const run = (it: Stage) => fillFor(it, disk, isLong ? 30_000 : 2_000);
    return await runFault({ name: `disk full and emptied: ${server} server`, stage, times: [1, 3], run }, isLong);
  } finally {
    disk.remove();
  }
}

async function fillFor({ http, servers }: Stage, disk: SmallDisk, ms: number): Promise<void> {
  disk.fill();
  const untilMs = performance.now() + noticeMsMax;
  const isReady = (place: string) => fetch(`${place}/readyz`).then((it) => it.ok);
  while ((await Promise.all(http().map(isReady))).includes(true)) {
    if (performance.now() > untilMs) throw new Error('the disk is full, and a replica says that it is ready');
    await sleep(100);
  }
  await sleep(ms);
  disk.empty();
  for (const server of servers) {
    await server.kill(); // a server is useless after a failed write, and 2.9 ignores SIGTERM
    await server.restart();
  }
}

const delayMs = 200;
const delay = `inject=pwrite64,fsync:delay_enter=${delayMs * 1_000}`;

/** Delays each disk write of nats-server by 200 ms, with strace. */
const slowDisk: Fault = {
  name: 'disk slow: 200 ms for each write',
  times: [1, 1],
  async run({ servers }, isLong) {
    const pids = servers.flatMap(({ pid }) => ['-p', String(pid)]);
    const tracer = spawn(
      'strace',
      ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=pwrite64,fsync', '-e', delay, ...pids],
      {
        stdio: 'ignore',
      },
    );
    const ended = once(tracer, 'exit');
    await sleep(isLong ? 60_000 : 5_000);
    tracer.kill('SIGINT');
    await ended;
  },
};

/** Returns the reason if strace is missing or not allowed. */
export async function runSlowDisk(isLong: boolean): Promise<Row | string> {
  const args = ['-qq', '-o', '/dev/null', '-e', 'trace=pwrite64', '-e', delay, 'true'];
  if (spawnSync('strace', args, { stdio: 'ignore' }).status !== 0) return 'not run: it takes strace';
  return runFault(slowDisk, isLong);
}

/**
 * Faults of real services and servers. Each runs under load, and afterwards the log and all replies must be consistent.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Account, account } from './account.ts';
import { type Load, startLoad } from './load.ts';
import { openStage, type Replica, type Stage, type StageOptions } from './stage.ts';

export type Row = Account & { readonly fault: string; readonly times: number; readonly longestGapMs: number };

export type Fault = {
  readonly name: string;
  readonly stage?: StageOptions;
  /** Number of repetitions in a short and in a long run. */
  readonly times: readonly [short: number, long: number];
  readonly run: (stage: Stage, isLong: boolean) => Promise<void>;
};

const workers = Array.from({ length: 8 }, (_, index) => `w${index}`);
/** Number of replies between two faults. */
const answersBetween = 40;

const first = ({ servers }: Stage) => servers[0] as Stage['servers'][number];
const replica = ({ replicas }: Stage, index: number) => replicas[index] as Replica;

async function restart(stage: Stage, target: Replica, signal: NodeJS.Signals): Promise<void> {
  const { service } = target;
  target.service = null;
  await service?.kill(signal);
  await stage.start(target);
}

async function suspend(pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await sleep(ms);
  process.kill(pid, 'SIGCONT');
}

const cutFor = (toServer: boolean, toClient: boolean) => async (stage: Stage, isLong: boolean) => {
  const { proxy } = replica(stage, 0);
  proxy.cut({ toServer, toClient });
  // Longer than two ping intervals of 5 s, so that the cut is noticed.
  await sleep(isLong ? 30_000 : 6_000);
  proxy.heal();
};

/** Faults on a single NATS server. */
export const faults: readonly Fault[] = [
  {
    name: 'replica killed',
    times: [2, 20],
    run: (stage) => restart(stage, replica(stage, Math.round(Math.random())), 'SIGKILL'),
  },
  { name: 'replica terminated', times: [1, 5], run: (stage) => restart(stage, replica(stage, 0), 'SIGTERM') },
  {
    name: 'replica stopped and continued',
    times: [1, 2],
    // Longer than the membership timeout, the wait for an entry and the duplicate window.
    run: (stage, isLong) => suspend(replica(stage, 0).service?.pid ?? 0, isLong ? 130_000 : 12_000),
  },
  {
    name: 'NATS killed',
    times: [2, 10],
    async run(stage) {
      await first(stage).kill();
      await sleep(1_000);
      await first(stage).restart();
    },
  },
  {
    name: 'NATS stopped and continued',
    times: [1, 3],
    run: (stage, isLong) => suspend(first(stage).pid, isLong ? 30_000 : 6_000),
  },
  { name: 'cut one way: to the server', times: [1, 3], run: cutFor(true, false) },
  { name: 'cut one way: to the replica', times: [1, 3], run: cutFor(false, true) },
  { name: 'cut both ways', times: [1, 3], run: cutFor(true, true) },
  {
    name: 'connection reset',
    times: [2, 20],
    async run(stage) {
      replica(stage, 0).proxy.reset();
      await sleep(300);
    },
  },
  {
    name: 'NATS and a replica killed together',
    times: [1, 5],
    async run(stage) {
      await Promise.all([first(stage).kill(), replica(stage, 1).service?.kill('SIGKILL')]);
      replica(stage, 1).service = null;
      await first(stage).restart();
      await stage.start(replica(stage, 1));
    },
  },
  {
    name: 'replica restarted in a loop',
    times: [1, 1],
    async run(stage, isLong) {
      for (const untilMs = performance.now() + (isLong ? 600_000 : 8_000); performance.now() < untilMs; )
        await restart(stage, replica(stage, 0), 'SIGKILL');
    },
  },
];

const full = 'jetstream: { max_file_store: 16MB }';

/**
 * Without space, every request is refused with a message, and the service recovers when there is space again. A
 * decision that was sent before it had an entry must get one, even from a replica that knows the attempt only from the
 * log.
 */
export const storeFull: Fault = {
  name: 'store full and emptied',
  stage: { natsConfig: full },
  times: [1, 3],
  async run(stage, isLong) {
    const { client } = stage;
    const name = 'FILL';
    await client.manager.streams.add({ name, subjects: ['fill'], max_msg_size: -1 });
    const fill = async (bytes: number) => {
      for (;;) {
        const ack = await client.nc.request('fill', new Uint8Array(bytes), { timeout: 2_000 });
        if (ack.json<{ error?: object }>().error !== undefined) return;
      }
    };
    for (const bytes of [1_000_000, 50_000, 5_000, 100]) await fill(bytes);
    await sleep(isLong ? 30_000 : 2_000);
    const { service } = replica(stage, 0);
    replica(stage, 0).service = null;
    await service?.kill('SIGKILL');
    await client.manager.streams.delete(name);
    await stage.start(replica(stage, 0));
  },
};

/** Runs a fault under load. @throws Error if the replicas do not agree afterwards */
export async function runFault(fault: Fault, isLong: boolean): Promise<Row> {
  const stage = await openStage(fault.stage);
  try {
    const load = startLoad(stage.client, workers, stage.http);
    const times = fault.times[isLong ? 1 : 0];
    for (let count = 0; count < times; count += 1) {
      await answers(load);
      await fault.run(stage, isLong);
    }
    await answers(load);
    await load.end();
    await stage.agreed();
    return {
      fault: fault.name,
      times,
      ...(await settledAccount(load, stage)),
      longestGapMs: Math.round(load.longestGapMs()),
    };
  } finally {
    await stage.close();
  }
}

const settleMsMax = 20_000;

/**
 * A decision is sent once its attempt is stored. Its entry follows, and is repeated every 2 s while the log refuses it
 * (protocol.md §5). An entry that is still missing after `settleMsMax` counts as lost.
 */
async function settledAccount(load: Load, stage: Stage): Promise<Account> {
  const untilMs = performance.now() + settleMsMax;
  for (;;) {
    const found = account(load, await stage.log());
    if (found.lost + found.undecided === 0 || performance.now() > untilMs) return found;
    await sleep(250);
  }
}

async function answers({ told, answered }: Load): Promise<void> {
  for (const until = told.length + answersBetween; told.length < until; ) await answered();
}

/**
 * Replaces the store by a copy that is older than the fold. The replicas must report the loss before anything else. A
 * restart must be enough, and replies after it must be consistent again.
 */
export async function runRewind(): Promise<Row> {
  const storeDir = await mkdtemp(join(tmpdir(), 'stopgate-store-'));
  const copy = await mkdtemp(join(tmpdir(), 'stopgate-copy-'));
  const stage = await openStage({ storeDir });
  try {
    const before = startLoad(stage.client, workers, stage.http);
    await answers(before);
    await first(stage).kill();
    await cp(storeDir, copy, { recursive: true });
    await first(stage).restart();
    await answers(before);
    await before.end();
    await first(stage).kill();
    await rm(storeDir, { recursive: true });
    await cp(copy, storeDir, { recursive: true });
    await first(stage).restart();
    for (const address of stage.http()) await untilLost(address);
    for (const each of stage.replicas) await restart(stage, each, 'SIGTERM');
    const fresh = workers.map((worker) => `${worker}-again`);
    const after = startLoad(stage.client, fresh, stage.http);
    await answers(after);
    await after.end();
    await stage.agreed();
    return {
      fault: 'store rewound to an older copy',
      times: 1,
      ...(await settledAccount(after, stage)),
      longestGapMs: Math.round(after.longestGapMs()),
    };
  } finally {
    await stage.close();
    for (const folder of [storeDir, copy]) await rm(folder, { recursive: true, force: true });
  }
}

const noticeMsMax = 20_000;

async function untilLost(address: string): Promise<void> {
  const untilMs = performance.now() + noticeMsMax;
  for (;;) {
    const text = await fetch(`${address}/readyz`).then((response) => response.text(), String);
    if (text.includes('LOG_LOST')) return;
    if (performance.now() > untilMs) throw new Error(`the log went back, but ${address} reports ${text}`);
    await sleep(100);
  }
}

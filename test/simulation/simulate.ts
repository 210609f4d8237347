/** Runs one seed. The same seed gives the same run, step by step. */

import type { RetentionRules } from '../../src/config/file.ts';
import type { SnapshotSchedule } from '../../src/host/maintenance/snapshot-taker.ts';
import { startAgents } from './agents.ts';
import { faultNames, scheduleFaults } from './faults.ts';
import { replaceGlobals } from './globals.ts';
import { type Http, openHttp } from './http.ts';
import {
  checkAgreement,
  checkCut,
  checkEnd,
  checkRulesSet,
  countForgotten,
  lastDeadline,
  unrest,
} from './invariants.ts';
import { clearFiles } from './modules/fs.ts';
import { operate } from './operator.ts';
import { createRandom, type Random } from './random.ts';
import { createScheduler, epochMs, type Scheduler } from './scheduler.ts';
import { createWorld, type Settings, type World } from './world.ts';

export type RunOptions = {
  /** Called with each line of the trace. */
  readonly onTrace?: (line: string) => void;
  /** Names of enabled faults. Default: all. */
  readonly faults?: readonly string[];
};

export type RunResult = {
  readonly seed: number;
  /** Violated invariants; empty if the run passed. */
  readonly failures: readonly string[];
  readonly steps: number;
  readonly entries: number;
  readonly acknowledged: number;
  readonly answered: number;
  readonly snapshots: number;
  /** Number of replica starts from a snapshot. */
  readonly starts: number;
  /** Number of times that retention trimmed the log. */
  readonly cuts: number;
  /** Number of forgotten workers and tasks. */
  readonly forgotten: number;
  /** Virtual time until the run had settled. */
  readonly tookMs: number;
};

/**
 * Maximum time for a run to settle, after everything is repaired and the last pending deadline has passed. A remote
 * hook requested through a server that died is pending until its timeout.
 */
const restMsMax = 45_000;
const checkEveryMs = 2_000;
const restCheckEveryMs = 250;

/** Time for open streams to end. */
const turnsAfter = 50;

/**
 * Starts the run from a macrotask, because it drains the microtask queue itself. Leftovers of a run have no real
 * timers.
 */
export async function simulate(seed: number, options: RunOptions = {}): Promise<RunResult> {
  const http = await openHttp();
  const { setImmediate: nextTurn } = globalThis;
  return new Promise((resolve, reject) => {
    nextTurn(() => {
      const scheduler = createScheduler();
      const random = createRandom(seed);
      const restore = replaceGlobals(scheduler, random);
      const end = (settle: () => void, turns = turnsAfter) => {
        nextTurn(() => {
          if (turns > 0) return end(settle, turns - 1);
          restore();
          settle();
        });
      };
      try {
        const result = run({ seed, scheduler, random, http }, options);
        end(() => resolve(result));
      } catch (error) {
        end(() => reject(error as Error));
      }
    });
  });
}

type Given = { readonly seed: number; readonly scheduler: Scheduler; readonly random: Random; readonly http: Http };

function run({ seed, scheduler, random, http }: Given, { onTrace, faults = faultNames }: RunOptions): RunResult {
  clearFiles();
  const rejections: unknown[] = [];
  const onRejection = (reason: unknown) => void rejections.push(reason);
  process.on('unhandledRejection', onRejection);
  try {
    const settings = drawSettings(random.fork('settings'));
    const world = createWorld({ scheduler, random, settings, http, onTrace: onTrace ?? null });
    http.use((name) => world.members.find((it) => it.name === name)?.replica ?? null, world.fail);
    world.trace(`seed ${seed}: ${settings.replicas} replicas, ${settings.workers} workers`);
    world.startServer();
    for (const member of world.members) world.start(member);
    operate(world);
    world.onRulesSet = () => checkRulesSet(world);
    world.onPurge = (stream, seq) => checkCut(world, stream, seq);
    const agents = startAgents(world);
    scheduleFaults(world, random.int(0, 9), faults);
    watch(world);
    play(world, agents.isDone);
    for (const reason of rejections) world.fail(`a promise was rejected, and nobody cared: ${textOf(reason)}`);
    return resultOf(seed, world);
  } finally {
    process.off('unhandledRejection', onRejection);
  }
}

const textOf = (reason: unknown) => (reason instanceof Error ? (reason.stack ?? reason.message) : String(reason));

function drawSettings(random: Random): Settings {
  const check = { command: 'test', timeout: '3s', onError: random.pick(['allow', 'block']) };
  return {
    replicas: random.int(2, 3),
    workers: random.int(2, 4),
    busyMs: random.int(5_000, 15_000),
    syncEveryMs: random.chance(0.5) ? 0 : random.spread(200, 10_000),
    snapshotSchedule: random.chance(0.3) ? null : drawSchedule(random),
    retention: drawRetention(random),
    // From the beginning, so that snapshots need it by the time of a rollback.
    release: random.chance(0.3) ? 2 : 1,
    isCluster: random.chance(0.4),
    policies: {
      policies: {
        default: { retries: 2, checks: [{ plan: {} }, check] },
        judged: { retries: 1, onCap: 'escalate', checks: [{ remote: 'judge', timeout: '3s', onError: 'block' }] },
        plain: { retries: 2, keepAlives: 2, persistence: { idle: '10s' }, checks: [{ rules: ['lint'] }] },
        held: { retries: 2, keepAlives: 3, persistence: { idle: '8s', hold: '1500ms', queue: 'quiet' } },
      },
      releaseAfter: '300s',
      ...(random.chance(0.4) ? { forget: `${random.int(300, 8_000)}ms` } : {}),
      ...(random.chance(0.4) ? { budget: { usd: random.int(1, 4) / 2, per: 'day' } } : {}),
    },
  };
}

const drawSchedule = (random: Random): SnapshotSchedule => ({
  everyEntries: random.int(6, 40),
  cheapEntries: 6,
  cheapBytes: 4_000,
  pauseFactor: 100,
  quietEntries: random.int(2, 8),
  quietMs: random.int(1_000, 5_000),
  checkEveryMs: 1_000,
  standbyMs: 2_000,
});

const drawRetention = (random: Random): RetentionRules => ({
  forMs: random.chance(0.6) ? random.int(100, 4_000) : null,
  bytesMax: random.chance(0.3) ? random.int(1_000, 8_000) : null,
  archive: random.chance(0.5) ? '/archive' : null,
});

/** Checks during the run. */
function watch(world: World): void {
  const check = () => {
    checkAgreement(world);
    world.scheduler.after(null, checkEveryMs, check);
  };
  world.scheduler.after(null, checkEveryMs, check);
}

function play(world: World, areAgentsDone: () => boolean): void {
  const { scheduler, settings } = world;
  const mendedMs = epochMs + settings.busyMs;
  let deadlineMs = mendedMs;
  const hasFailed = () => world.failures.length > 0;
  scheduler.runUntil(mendedMs, hasFailed);
  while (!hasFailed()) {
    scheduler.runUntil(scheduler.nowMs + restCheckEveryMs, hasFailed);
    if (hasFailed()) return;
    const reason = areAgentsDone() ? unrest(world) : 'agents are still at work';
    if (reason === null) {
      checkEnd(world);
      return;
    }
    // Deadlines fire only when the server's clock reaches them.
    deadlineMs = Math.max(deadlineMs, lastDeadline(world) - (world.server?.process.clockOffsetMs ?? 0));
    // Without new entries, a replica does not notice that a clock was corrected.
    if (scheduler.nowMs > deadlineMs + restMsMax + world.serverClockStepMs)
      world.fail(`it did not come to rest: ${reason}`);
  }
}

function resultOf(seed: number, world: World): RunResult {
  const { scheduler, ledger, log, failures, heard } = world;
  const countOf = (text: string) => heard.get(text) ?? 0;
  const answered = [...ledger.asked.values()].filter(({ answers }) => answers.length > 0).length;
  return {
    seed,
    failures,
    answered,
    steps: scheduler.steps,
    entries: log?.lastSeq ?? 0,
    snapshots: countOf('snapshot taken'),
    starts: countOf('the fold continues from a snapshot'),
    cuts: countOf('entries behind a snapshot removed'),
    forgotten: countForgotten(world),
    acknowledged: ledger.acknowledged.length,
    tookMs: scheduler.nowMs - epochMs,
  };
}

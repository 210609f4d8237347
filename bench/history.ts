/**
 * `npm run bench:history`: measures jumps through a log of a million entries (`--entries N`), their cost for others,
 * and the memory that remains in use. Stores the entries at the pace at which the service folds them, so that it takes
 * snapshots meanwhile, and then asks a second replica for the past. `--store FOLDER` keeps the NATS server's store for
 * the next run.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Figure, figure, formatFigures, quantile } from './figures.ts';
import type { Jump } from './history-jumper.ts';
import { cpuUsOf, processTree, rssOf } from './process-cpu.ts';
import { openScene } from './scene.ts';
import { startServiceProcess } from './service-process.ts';

const { values: flags } = parseArgs({
  options: { entries: { type: 'string' }, store: { type: 'string' }, json: { type: 'boolean' } },
});
const entries = Number(flags.entries ?? 1_000_000);
const workers = 5_000;
const jumps = 40;
/** None of their positions has a snapshot. */
const coldJumps = 9;
/** Windows with and without jumps alternate, so that both see the same load. */
const windowPairs = 25;
const windowMs = 1_000;
const chunk = 20_000;

/** The packaged program, in few files, starts in less than half of the time. */
const program = fileURLToPath(new URL('../packages/stopgate/dist/src/main.js', import.meta.url));

const scene = await openScene({ program, store: flags.store });
const nc = await connect({ servers: scene.url });
const jumper = fork(fileURLToPath(new URL('./history-jumper.js', import.meta.url)));
try {
  await fill();
  const figures = await measure();
  process.stdout.write(flags.json ? `${JSON.stringify(figures)}\n` : formatFigures(figures));
} finally {
  jumper.kill();
  await nc.close();
  await scene.close();
}

/** Stores the mix of `fold`, with the workers in turn. Keeps what an earlier run has stored. */
async function fill(): Promise<void> {
  const manager = await jetstreamManager(nc);
  const stored = async () => (await manager.streams.info('STOPGATE_main')).state.last_seq;
  for (let from = await stored(); from < entries; from = await stored()) {
    for (let index = from; index < Math.min(entries, from + chunk); index += 1) nc.publish(...entryAt(index));
    await nc.flush();
    // A service that is behind refuses requests and takes no snapshots.
    while (!(await decide(0).catch(() => false))) await pause(50);
  }
}

function entryAt(index: number): [subject: string, data: string] {
  const subject = (type: string) => `stopgate.main.worker.w${(index * 7) % workers}.${type}`;
  if (index < workers) return [subject('worker.registered'), '{"agent":"bench","policy":"plain"}'];
  if (index % 10 === 0) return [subject('step.updated'), '{"step":"1","title":"Write tests","status":"completed"}'];
  if (index % 4 === 0) return [subject('heartbeat.sent'), '{}'];
  return [subject('tool.used'), '{"tool":"Edit","ok":true,"files":["src/a.ts"]}'];
}

async function measure(): Promise<Figure[]> {
  const rssBefore = sumOf(scene.pids.service, rssOf);
  // The service takes snapshots automatically every 50,000 entries.
  await nc.request('stopgate.main.snapshot.main', '{}', { timeout: 60_000 });
  const newestMs = await timeJump(entries);
  const folded = await foldAll();
  const took: number[] = [];
  for (let jump = 0; jump < jumps; jump += 1) took.push(await timeJump(positionOf(jump)));
  const { alone, beside } = await sampleInTurn();
  const cold = await jumpCold();
  const p99 = (times: number[]) => quantile(times, 0.99);
  return [
    figure('history: the first jump, to the newest entry', newestMs, 'ms'),
    figure(`history: fold of ${entries.toLocaleString('en')} entries, in the background`, folded.ms, 'ms'),
    figure('history: the same, CPU of the service', folded.cpuMs, 'ms'),
    figure('history: later jumps, back and forward, p50', quantile(took, 0.5), 'ms'),
    figure('history: later jumps, the slowest', Math.max(...took), 'ms', { atMost: 1_000 }),
    figure('history: decide p50, nobody jumps', quantile(alone, 0.5), 'ms'),
    figure('history: decide p99, nobody jumps', p99(alone), 'ms'),
    figure('history: decide p50 while one jumps', quantile(beside, 0.5), 'ms'),
    figure('history: decide p99 while one jumps / nobody', p99(beside) / p99(alone), 'x', { atMost: 1.5 }),
    figure('history: decide p99 in the background fold / nobody', p99(folded.beside) / p99(alone), 'x', {
      atMost: 1.5,
    }),
    figure('history: a new replica, first jump, to the newest entry', cold.newestMs, 'ms'),
    figure('history: the same, CPU of its processes', cold.newestCpuMs, 'ms'),
    figure('history: a new replica, then to nine places, the slowest', cold.slowestMs, 'ms', { atMost: 1_000 }),
    figure('history: the same, CPU of its processes for each', cold.cpuMs, 'ms'),
    figure('history: memory that time travel adds', sumOf(scene.pids.service, rssOf) - rssBefore, 'B'),
  ];
}

/** Positions back and forth, all over the log. */
function positionOf(jump: number): number {
  return 1 + ((jump * 617_371) % entries);
}

/** Requests the outline until it is complete, like a page that shows the time. */
async function foldAll(): Promise<{ ms: number; cpuMs: number; beside: number[] }> {
  const cpuMs = () => sumOf(scene.pids.service, cpuUsOf) / 1_000;
  const startedMs = performance.now();
  const cpuBefore = cpuMs();
  let isRunning = true;
  const sampling = sampleDecides(() => isRunning);
  for (;;) {
    const reply = await fetch(`${scene.http}/api/main/outline?to=${entries}&width=1024`);
    const { covered, lastSeq, shownFrom } = (await reply.json()) as Record<string, number>;
    if ((covered ?? 0) >= Math.min(entries, lastSeq ?? 0) - (shownFrom ?? 0) + 1) break;
    await pause(1_000);
  }
  isRunning = false;
  const ms = performance.now() - startedMs;
  return { ms, cpuMs: cpuMs() - cpuBefore, beside: await sampling };
}

async function sampleInTurn(): Promise<{ alone: number[]; beside: number[] }> {
  const alone: number[] = [];
  const beside: number[] = [];
  let jump = 0;
  for (let pair = 0; pair < windowPairs; pair += 1) {
    const aloneUntilMs = performance.now() + windowMs;
    alone.push(...(await sampleDecides(() => performance.now() < aloneUntilMs)));
    const untilMs = performance.now() + windowMs;
    const jumping = (async () => {
      for (; performance.now() < untilMs; jump += 1) await timeJump(positionOf(jump));
    })();
    beside.push(...(await sampleDecides(() => performance.now() < untilMs)));
    await jumping;
  }
  return { alone, beside };
}

/** A replica that starts now knows only the stored past: the log and the snapshots. */
async function jumpCold(): Promise<{ newestMs: number; newestCpuMs: number; slowestMs: number; cpuMs: number }> {
  const service = startServiceProcess({ url: scene.url, cwd: scene.folder, program });
  try {
    const http = await service.ready;
    const reply = await fetch(`${http}/api/main/range`);
    const { lastSeq = 0 } = (await reply.json()) as Record<string, number>;
    const cpuAtStart = sumOf(service.pid, cpuUsOf);
    const newestMs = await timeJump(lastSeq, http);
    const cpuBefore = sumOf(service.pid, cpuUsOf);
    let slowestMs = 0;
    for (let jump = 1; jump <= coldJumps; jump += 1)
      slowestMs = Math.max(slowestMs, await timeJump(Math.ceil((entries * jump) / (coldJumps + 1)) - 1, http));
    const cpuUs = sumOf(service.pid, cpuUsOf) - cpuBefore;
    return { newestMs, newestCpuMs: (cpuBefore - cpuAtStart) / 1_000, slowestMs, cpuMs: cpuUs / 1_000 / coldJumps };
  } finally {
    await service.close();
  }
}

async function timeJump(seq: number, http: string = scene.http): Promise<number> {
  const answered = once(jumper, 'message', { signal: AbortSignal.timeout(300_000) });
  jumper.send({ http, seq } satisfies Jump);
  const [tookMs] = (await answered) as [number];
  return tookMs;
}

async function sampleDecides(shouldContinue: () => boolean): Promise<number[]> {
  const took: number[] = [];
  for (let index = 0; shouldContinue(); index += 1) {
    const startedMs = performance.now();
    await decide(index);
    took.push(performance.now() - startedMs);
    await pause(5);
  }
  return took;
}

/** @returns whether the attempt was decided */
async function decide(index: number): Promise<boolean> {
  const reply = await nc.request(`stopgate.main.decide.w${index % workers}`, '{}', { timeout: 30_000 });
  return (reply.headers?.get('Nats-Service-Error-Code') ?? '') === '';
}

/** Sum over the service and the process that folds the past for it. */
function sumOf(pid: number, read: (pid: number) => number): number {
  return processTree(pid).reduce((sum, each) => sum + read(each), 0);
}

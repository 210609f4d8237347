/**
 * `npm run bench:history`: jumps through a log of a million entries (`--entries N`), what they cost others, and what memory stays.
 * The entries are stored while no service runs, as by agents; the service then folds them, and is asked.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Figure, formatFigures, quantile } from './figures.ts';
import { openScene, type Scene } from './scene.ts';

const entries = Number(process.argv[process.argv.indexOf('--entries') + 1]) || 1_000_000;
const workers = 5_000;
const jumps = 20;
const decides = 1_500;
const chunk = 20_000;

const scene = await openScene();
const nc = await connect({ servers: scene.url });
try {
  await fill();
  const figures = await measure();
  process.stdout.write(process.argv.includes('--json') ? `${JSON.stringify(figures)}\n` : formatFigures(figures));
} finally {
  await nc.close();
  await scene.close();
}

/** The mix of the bench's fold, over the workers in turn. */
async function fill(): Promise<void> {
  const manager = await jetstreamManager(nc);
  for (let from = 0; from < entries; from += chunk) {
    for (let index = from; index < Math.min(entries, from + chunk); index += 1) nc.publish(...entryAt(index));
    await nc.flush();
  }
  while ((await manager.streams.info('STOPGATE_main')).state.messages < entries) await pause(200);
  // It is behind, and refuses, until it has folded all of it.
  while (!(await decide(0).catch(() => false))) await pause(500);
}

function entryAt(index: number): [subject: string, data: string] {
  const subject = (type: string) => `stopgate.main.worker.w${(index * 7) % workers}.${type}`;
  if (index < workers) return [subject('worker.registered'), '{"agent":"bench","policy":"plain"}'];
  if (index % 10 === 0) return [subject('step.updated'), '{"step":"1","title":"Write tests","status":"completed"}'];
  if (index % 4 === 0) return [subject('heartbeat.sent'), '{}'];
  return [subject('tool.used'), '{"tool":"Edit","ok":true,"files":["src/a.ts"]}'];
}

async function measure(): Promise<Figure[]> {
  const before = await sampleDecides(() => true);
  const rssBefore = await rssBytes();
  const alone = quantile(before, 0.99);
  // Others, while the first jump folds all of the log.
  let isRunning = true;
  const first = timeJump(scene, entries).finally(() => {
    isRunning = false;
  });
  const beside = await sampleDecides(() => isRunning);
  const firstMs = await first;
  const took: number[] = [];
  for (let jump = 0; jump < jumps; jump += 1) took.push(await timeJump(scene, 1 + ((jump * 617_371) % entries)));
  return [
    { name: `history: the first jump, to entry ${entries.toLocaleString('en')}`, value: firstMs, unit: 'ms' },
    { name: 'history: later jumps, back and forward, p50', value: quantile(took, 0.5), unit: 'ms' },
    { name: 'history: later jumps, the slowest', value: Math.max(...took), unit: 'ms', goal: { atMost: 1_000 } },
    { name: 'history: decide p50, nobody jumps', value: quantile(before, 0.5), unit: 'ms' },
    { name: 'history: decide p99, nobody jumps', value: alone, unit: 'ms' },
    { name: 'history: decide p50 while one jumps', value: quantile(beside, 0.5), unit: 'ms' },
    {
      name: 'history: decide p99 while one jumps / nobody',
      ...{ value: quantile(beside, 0.99) / alone, unit: 'x', goal: { atMost: 1.5 } },
    },
    { name: 'history: memory that the checkpoints add', value: (await rssBytes()) - rssBefore, unit: 'B' },
  ];
}

async function timeJump({ http }: Scene, seq: number): Promise<number> {
  const startedMs = performance.now();
  const response = await fetch(`${http}/api/main/at/${seq}`);
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`${response.status} at entry ${seq}`);
  return performance.now() - startedMs;
}

async function sampleDecides(goesOn: () => boolean): Promise<number[]> {
  const took: number[] = [];
  for (let index = 0; index < decides && goesOn(); index += 1) {
    const startedMs = performance.now();
    await decide(index);
    took.push(performance.now() - startedMs);
    await pause(5);
  }
  return took;
}

/** @returns whether it was decided */
async function decide(index: number): Promise<boolean> {
  const reply = await nc.request(`stopgate.main.decide.w${index % workers}`, '{}', { timeout: 30_000 });
  return (
    reply.headers?.get('Nats-Service-Error-Code') === '' || reply.headers?.get('Nats-Service-Error-Code') === undefined
  );
}

async function rssBytes(): Promise<number> {
  const text = await (await fetch(`${scene.http}/metrics`)).text();
  return Number(/^stopgate_process_resident_memory_bytes ([\d.e+-]+)/m.exec(text)?.[1]);
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

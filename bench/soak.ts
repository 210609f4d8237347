/**
 * `npm run bench:soak [-- --minutes N --rate N]`: does the service's memory stay flat? Publishes 3,000 entries per
 * second and keeps 50,000 workers in the fold, each of which registers, works, stops and is forgotten. Default: an
 * hour; five minutes show the trend. At a lower rate the workers live longer, so that as many are in the fold.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type Figure, figure, formatFigures } from './figures.ts';
import { endWith, readRunOptions } from './run-options.ts';
import { openScene, type Scene } from './scene.ts';

const help = 'npm run bench:soak -- [--minutes N, 60] [--rate ENTRIES_PER_SECOND, 3000] [--json]\n';
const values = readRunOptions(
  { minutes: { type: 'string' }, rate: { type: 'string' }, json: { type: 'boolean' } },
  help,
);
const spanMs = readNumber('minutes', 60) * 60_000;
const entriesPerSecond = readNumber('rate', 3_000);

/** Per worker, including the decision that the service stores. */
const entriesPerWorker = 6;
const workersPerSecond = entriesPerSecond / entriesPerWorker;
const workersInFold = 50_000;
const inFoldMs = (workersInFold / workersPerSecond) * 1_000;
/** For the rest of the time they are stopped and wait to be forgotten. */
const lifeMs = inFoldMs / 5;
const samples = 24;
const config = `
policies:
  default: { retries: null }
forget: ${Math.round(inFoldMs - lifeMs)}ms
`;

const scene = await openScene({ config, probed: true });
const nc = await connect({ servers: scene.url });
try {
  const figures = await soak(scene, nc);
  process.stdout.write(values.json ? `${JSON.stringify(figures)}\n` : formatFigures(figures));
} finally {
  await nc.close();
  await scene.close();
}

function readNumber(option: 'minutes' | 'rate', byDefault: number): number {
  const number = Number(values[option] ?? byDefault);
  return number > 0 ? number : endWith(`--${option} must be a number above 0`, help);
}

type Sample = { readonly heapBytes: number; readonly workers: number; readonly behind: number };

async function soak({ http, probe }: Scene, to: NatsConnection): Promise<Figure[]> {
  const live = startWorkers(to);
  const taken: Sample[] = [];
  try {
    for (let index = 1; index <= samples; index += 1) {
      await pause(spanMs / samples);
      const { workers, foldSeq } = await gaugesOf(http);
      const behind = live.published() - foldSeq;
      const { heapBytes } = await probe();
      taken.push({ heapBytes, workers, behind });
      process.stderr.write(
        `${index}/${samples}: ${mib(heapBytes)} MiB, ${workers} workers, ${behind} entries behind\n`,
      );
    }
    return figuresOf(taken, live.started());
  } finally {
    live.end();
  }
}

/** Ignores samples while the service is behind: unfolded entries take memory, but are not a leak. */
function keepsUp({ behind }: Sample): boolean {
  return behind < entriesPerSecond;
}

/** Skips the first half as warm-up: the fold is full after `inFoldMs`. */
function figuresOf(taken: readonly Sample[], started: number): Figure[] {
  const quarter = samples / 4;
  const third = meanHeap(taken.slice(2 * quarter, 3 * quarter));
  const last = meanHeap(taken.slice(3 * quarter));
  const growth = (last / third - 1) * 100; // NaN without valid samples, which misses the goal
  return [
    figure('soak: workers that came', started, ''),
    figure('soak: samples of 24 that counted, less than a second behind', taken.filter(keepsUp).length, ''),
    figure('soak: workers in the fold at the end', taken.at(-1)?.workers ?? 0, ''),
    figure('soak: heap after collection, third quarter', third, 'B'),
    figure('soak: heap after collection, last quarter', last, 'B'),
    figure('soak: growth in the second half', growth, '%', { atMost: 5 }),
  ];
}

function meanHeap(some: readonly Sample[]): number {
  const counted = some.filter(keepsUp);
  return counted.reduce((sum, { heapBytes }) => sum + heapBytes, 0) / counted.length;
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}

/** Each turn starts the workers that are due, and advances those that have started. */
function startWorkers(to: NatsConnection) {
  const turnMs = 50;
  const steps = ['worker.registered', 'tool.used', 'tool.used', 'stop.attempted', 'session.ended'];
  const bodies: Readonly<Record<string, string>> = {
    'tool.used': '{"tool":"Bash","ok":true}',
    'stop.attempted': '{"attempt":"a1"}',
  };
  const startedMs = performance.now();
  let started = 0;
  let published = 0;
  const due: { worker: number; step: number; atMs: number }[][] = steps.map(() => []);
  const publish = (worker: number, step: number) => {
    const type = steps[step] as string;
    to.publish(`stopgate.main.worker.w${worker}.${type}`, bodies[type] ?? '{}');
    published += type === 'stop.attempted' ? 2 : 1;
    due[step + 1]?.push({ worker, step: step + 1, atMs: performance.now() + lifeMs / steps.length });
  };
  const turn = setInterval(() => {
    const nowMs = performance.now();
    for (const queue of due) {
      let count = 0;
      while (count < queue.length && (queue[count]?.atMs ?? 0) <= nowMs) count += 1;
      for (const { worker, step } of queue.splice(0, count)) publish(worker, step);
    }
    for (const until = ((nowMs - startedMs) / 1_000) * workersPerSecond; started < until; ) {
      started += 1;
      publish(started, 0);
    }
  }, turnMs);
  return { started: () => started, published: () => published, end: () => clearInterval(turn) };
}

async function gaugesOf(http: string): Promise<{ workers: number; foldSeq: number }> {
  const text = await (await fetch(`${http}/metrics`)).text();
  const gauge = (name: string) => Number(new RegExp(`^stopgate_${name}(?:{[^}]*})? ([\\d.e+-]+)`, 'm').exec(text)?.[1]);
  return { workers: gauge('workers'), foldSeq: gauge('fold_seq') };
}

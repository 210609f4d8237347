/** Memory per worker in the fold: after registration, and after ten attempts of each of 100,000 workers. */
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createFleet, type Fleet, foldEntry, noteDecision, readEntry } from '../machines/index.ts';
import { type Figure, figure } from './figures.ts';

const idleWorkers = 10_000;
const busyWorkers = 100_000;
const attempts = 10;

/** Bytes in use after a garbage collection. */
function createHeap(): () => number {
  // Like --expose-gc, for a process that was started without it: new contexts have `gc`.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
}

export function measureMemory(): Figure[] {
  const heapBytes = createHeap();
  const before = heapBytes();
  const fleet = createFleet('memory');
  for (let index = 0; index < idleWorkers; index += 1) fold(fleet, `w${index}.worker.registered`, '{"agent":"bench"}');
  const each = (heapBytes() - before) / fleet.workers.size;
  return [figure('heap of a worker without activity, of 10,000', each, 'B', { atMost: 5_000 })];
}

export async function measureAttempts(_url: string, scale: number): Promise<Figure[]> {
  const heapBytes = createHeap();
  const fleet = createFleet('memory');
  setPolicies(fleet);
  const ids = Array.from({ length: Math.ceil(busyWorkers * scale) }, (_, index) => idOf(index));
  for (const id of ids) {
    fold(fleet, `${id}.worker.registered`, '{"agent":"claude","cwd":"/home/user/project"}');
    fold(fleet, `${id}.plan.updated`, planOf('pending'));
  }
  for (let number = 1; number < attempts; number += 1) {
    for (const id of ids) attempt(fleet, id, number);
    await turn(); // so that Ctrl-C works within seconds
  }
  const atWorkBytes = heapBytes();
  for (const id of ids) {
    fold(fleet, `${id}.plan.updated`, planOf('completed'));
    attempt(fleet, id, attempts);
  }
  const stoppedBytes = heapBytes();
  // Memory that the process keeps for all fleets does not count.
  for (const worker of ids) fleet.workers.delete(worker);
  while (fleet.deadlines.pop() !== undefined);
  while (fleet.forgetting.pop() !== undefined);
  const withoutBytes = heapBytes();
  // Used after the last measurement, so that they stay in memory until then and do not distort the difference.
  const each = (bytes: number) => (bytes - withoutBytes) / ids.length;
  return [
    figure('heap of a worker after nine blocked attempts, of 100,000', each(atWorkBytes), 'B', { atMost: 2_500 }),
    figure('heap of a worker that has stopped at its tenth, of 100,000', each(stoppedBytes), 'B', { atMost: 600 }),
  ];
}

/** Unique ids, as long as the id of a session. */
const idOf = (index: number): string => `session-${String(index).padStart(6, '0')}-${(index * 2_654_435_761) % 99_991}`;

const planOf = (status: string): string =>
  JSON.stringify({
    steps: [
      { title: 'Write code', status: 'completed' },
      { title: 'Write tests', status },
    ],
  });

/** Folds the entries of one turn: the agent's work, the attempt, and the decision that the service stores. */
function attempt(fleet: Fleet, id: string, number: number): void {
  fold(fleet, `${id}.tool.used`, `{"tool":"Edit","ok":true,"files":["src/file-${number % 3}.ts"]}`);
  const name = `a${number}-${fleet.seq}`;
  for (const outcome of fold(fleet, `${id}.stop.attempted`, JSON.stringify({ attempt: name, output: 'done' })).outcomes)
    if (outcome.kind === 'decided') JSON.stringify(outcome.decision);
  fleet.seq += 1;
  noteDecision(fleet, id, name, fleet.seq);
}

function setPolicies(fleet: Fleet): void {
  const text = '{"policies":{"default":{"retries":null,"checks":[{"plan":{}}]}}}';
  foldText(fleet, 'stopgate.memory.own.fleet.memory.policy.set', text);
}

const fold = (fleet: Fleet, tail: string, text: string) => foldText(fleet, `stopgate.memory.worker.${tail}`, text);

function foldText(fleet: Fleet, subject: string, text: string) {
  const entry = readEntry(subject, text, text.length);
  if (entry === null || !('data' in entry)) throw new Error(`no entry: ${subject}`);
  return foldEntry(fleet, { seq: fleet.seq + 1, atMs: fleet.nowMs + 1, entry });
}

/** Runs many seeds on all cores, or one seed with its trace. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { faultNames } from './faults.ts';
import { type RunResult, simulate } from './simulate.ts';

type Range = {
  readonly first: number;
  readonly count: number;
  readonly step: number;
  readonly faults: readonly string[];
};

const usage = `npm run test:sim [-- --seeds N] [--seed S] [--faults a,b] [--trace] [--first] [--json]

  --seeds N   number of seeds, starting at S; default 10000
  --seed S    the first seed, default 1. Without --seeds only this one, with the end of its trace
  --trace     all of the trace
  --faults    only these of ${faultNames.join(', ')}
  --first     stop at the first seed that fails
  --json      one line of JSON at the end
`;

/** @returns the exit code: 1 if a seed failed */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string' },
      seed: { type: 'string' },
      faults: { type: 'string' },
      trace: { type: 'boolean' },
      json: { type: 'boolean' },
      first: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const faults = values.faults?.split(',').filter((it) => it !== '') ?? faultNames;
  const unknown = faults.filter((it) => !faultNames.includes(it));
  if (values.help || unknown.length > 0) {
    process.stdout.write(unknown.length > 0 ? `no fault is named ${unknown.join(', ')}\n\n${usage}` : usage);
    return values.help ? 0 : 2;
  }
  const first = Number(values.seed ?? 1);
  if (values.seed !== undefined && values.seeds === undefined) return showSeed(first, faults, values.trace === true);
  const count = Number(values.seeds ?? 10_000);
  return runMany({ first, count, faults, stopsAtFirst: values.first === true, asJson: values.json === true });
}

const traceLinesMax = 80;

async function showSeed(seed: number, faults: readonly string[], whole: boolean): Promise<number> {
  const lines: string[] = [];
  const result = await simulate(seed, { faults, onTrace: (line) => lines.push(line) });
  const shown = whole ? lines : lines.slice(-traceLinesMax);
  if (shown.length < lines.length)
    process.stdout.write(`… ${lines.length - shown.length} lines before; --trace shows them\n`);
  process.stdout.write(`${shown.map((line) => line.slice(0, 240)).join('\n')}\n${JSON.stringify(result, null, 2)}\n`);
  return result.failures.length > 0 ? 1 : 0;
}

type Job = {
  readonly first: number;
  readonly count: number;
  readonly faults: readonly string[];
  readonly stopsAtFirst: boolean;
  readonly asJson: boolean;
};

const noCounts = { steps: 0, entries: 0, acknowledged: 0, answered: 0, snapshots: 0, starts: 0, cuts: 0, forgotten: 0 };
const progressEverySeeds = 500;
const counted = Object.keys(noCounts) as (keyof typeof noCounts)[];

async function runMany({ first, count, faults, stopsAtFirst, asJson }: Job): Promise<number> {
  const startedMs = performance.now();
  const totals = { seeds: 0, ...noCounts, failed: [] as number[], why: '' };
  const onResult = (result: RunResult) => {
    totals.seeds += 1;
    if (totals.seeds % progressEverySeeds === 0) process.stderr.write(`${totals.seeds} of ${count} seeds\n`);
    for (const key of counted) totals[key] += result[key];
    if (result.failures.length === 0) return;
    if (stopsAtFirst && totals.failed.length > 0) return;
    totals.failed.push(result.seed);
    totals.why ||= result.failures[0] ?? '';
    const isDefault = faults === faultNames;
    const again = `npm run test:sim -- --seed ${result.seed}${isDefault ? '' : ` --faults ${faults.join(',')}`}`;
    if (!asJson)
      process.stderr.write(`seed ${result.seed} failed: ${result.failures[0]?.slice(0, 400)}\n  again: ${again}\n`);
  };
  // In order, if the first failing seed is wanted.
  const threads = stopsAtFirst ? 1 : Math.min(availableParallelism(), count);
  const ranges = Array.from(
    { length: threads },
    (_, index): Range => ({
      first: first + index,
      count: Math.ceil((count - index) / threads),
      step: threads,
      faults,
    }),
  );
  const ended = new AbortController();
  const onEach = (result: RunResult) => {
    onResult(result);
    if (stopsAtFirst && totals.failed.length > 0) ended.abort();
  };
  await Promise.all(ranges.map((range) => runInThread(range, onEach, ended.signal)));
  const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
  const { failed, ...sums } = totals;
  if (asJson) process.stdout.write(`${JSON.stringify({ ...sums, seconds, failed })}\n`);
  else
    process.stdout.write(
      `${sums.seeds} seeds in ${seconds} s: ${sums.steps} steps, ${sums.entries} entries, ${sums.acknowledged} acknowledged, ` +
        `${sums.answered} attempts answered; ${sums.snapshots} snapshots, ${sums.starts} starts from one, ${sums.cuts} cuts, ${sums.forgotten} forgotten; ` +
        `${failed.length} seeds failed\n`,
    );
  return failed.length > 0 ? 1 : 0;
}

function runInThread(range: Range, onResult: (result: RunResult) => void, ended: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: range,
      execArgv: [],
      // A run makes much that is soon forgotten.
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    });
    worker.on('message', onResult);
    ended.addEventListener('abort', () => void worker.terminate());
    worker.on('error', reject);
    worker.on('exit', (code) => {
      if (code === 0 || ended.aborted) resolve();
      else reject(new Error(`a thread ended with ${code} before its last seed`));
    });
  });
}

async function runRange({ first, count, step, faults }: Range): Promise<void> {
  // The service creates many errors, whose stack traces nobody reads.
  Error.stackTraceLimit = 0;
  for (let index = 0; index < count; index += 1)
    parentPort?.postMessage(await simulate(first + index * step, { faults }));
}

if (!isMainThread) await runRange(workerData as Range);

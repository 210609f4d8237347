/** Records histories on real servers during faults, and checks them with Porcupine. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../../support/markdown.ts';
import { clusterFaults, clusterStage } from './cluster.ts';
import { type Fault, faults } from './faults.ts';
import { historyConfig, startHistory } from './history.ts';
import { openStage, type StageOptions } from './stage.ts';

/** The checker's output for a history (test/system/porcupine/main.go). */
export type Verdict = {
  readonly history: string;
  readonly operations: number;
  /** Number of workers and tasks. Each is checked separately. */
  readonly parts: number;
  readonly violations: readonly { readonly of: string; readonly operation: string; readonly picture: string }[];
  /** Parts that could not be checked within 60 s. */
  readonly unjudged: readonly string[];
};

export type HistoryRun = {
  readonly name: string;
  readonly stage?: StageOptions;
  readonly faults: readonly Pick<Fault, 'times' | 'run'>[];
  /** Number of operations before each fault and after the last one. */
  readonly operations?: number;
};

const checker = join(root, 'test/system/porcupine');
const names = ['ra', 'rb', 'rc'];

/** Runs with one server, and with three if this nats-server version supports that. */
export async function historyRuns(isLong: boolean): Promise<HistoryRun[]> {
  const short = ['replica killed', 'NATS killed', 'cut both ways'];
  const chosen = faults.filter(({ name }) => isLong || short.includes(name));
  const cluster = await clusterStage();
  return [
    { name: 'alone', faults: chosen },
    ...(typeof cluster === 'string' ? [] : [{ name: 'three-nodes', stage: cluster, faults: clusterFaults }]),
  ];
}

/** Records the history of a run in `file`. */
export async function recordHistory(
  { stage: options, faults, operations = 80 }: HistoryRun,
  file: string,
  isLong: boolean,
) {
  const stage = await openStage({ names, ...options, config: historyConfig });
  try {
    const recording = await startHistory(stage);
    for (const { times, run } of faults) {
      for (let count = 0; count < times[isLong ? 1 : 0]; count += 1) {
        await recording.returned(operations);
        await run(stage, isLong);
      }
    }
    await recording.returned(operations);
    await writeFile(file, JSON.stringify(await recording.end()));
  } finally {
    await stage.close();
  }
}

/** @returns why the checker cannot be built, or null */
export function missingChecker(): Promise<string | null> {
  return new Promise((resolve) => {
    execFile('go', ['build', '-o', '/dev/null', '.'], { cwd: checker, timeout: 300_000 }, (error, _, stderr) => {
      if (error === null) resolve(null);
      else resolve(`Porcupine needs Go and its module proxy: ${stderr.trim() || error.message}`);
    });
  });
}

/** @throws Error if the checker itself fails */
export async function judgeHistories(files: readonly string[]): Promise<Verdict[]> {
  const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((resolve) => {
    const options = { cwd: checker, timeout: 900_000, maxBuffer: 16 * 1_048_576 };
    execFile('go', ['run', '.', ...files], options, (_error, stdout, stderr) => resolve({ stdout, stderr }));
  });
  const verdicts = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Verdict);
  if (verdicts.length < files.length) throw new Error(`the checker failed: ${stderr}`);
  return verdicts;
}

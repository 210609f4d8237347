/** The CPU time of the bench's processes, as Linux counts it: unlike a time it means the same on a busy machine. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { ScenePids } from './scene.ts';

export type CpuMeter<Name extends string> = {
  /** For `sampleInTurn`. */
  beside(name: Name, after: 0 | 1): Promise<void>;
  /** Microseconds of one sample, of all that was measured; NaN where the system does not tell. */
  perSample(name: Name, process: keyof ScenePids, samples: number): number;
};

/** What the last samples leave to do, which counts as theirs. */
const restMs = 25;

export function createCpuMeter<Name extends string>(pids: ScenePids): CpuMeter<Name> {
  const processes = Object.keys(pids) as (keyof ScenePids)[];
  const sums = new Map<string, number>();
  return {
    async beside(name, after) {
      if (after === 1) await pause(restMs);
      for (const process of processes) {
        const key = `${name}:${process}`;
        sums.set(key, (sums.get(key) ?? 0) + (after === 1 ? 1 : -1) * cpuUsOf(pids[process]));
      }
    },
    perSample: (name, process, samples) => (sums.get(`${name}:${process}`) ?? Number.NaN) / samples,
  };
}

/** Since its start, of all its threads that live. */
function cpuUsOf(pid: number): number {
  try {
    const folder = `/proc/${pid}/task`;
    return readdirSync(folder).reduce((sum, thread) => sum + runNs(`${folder}/${thread}/schedstat`), 0) / 1_000;
  } catch {
    return Number.NaN;
  }
}

/** The first number: nanoseconds on a core. */
const runNs = (file: string): number => Number(readFileSync(file, 'utf8').split(' ')[0]);

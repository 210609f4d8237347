/** CPU time of each operation in the processes of the bench. */
import { setTimeout as pause } from 'node:timers/promises';
import { cpuUsOf } from './process-cpu.ts';
import type { ScenePids } from './scene.ts';

export type CpuMeter<Name extends string> = {
  /** Pass this to `sampleInTurn`. */
  atTurn(name: Name, moment: 'before' | 'after'): Promise<void>;
  /** Microseconds per sample. NaN if the system does not report CPU time. */
  perSample(name: Name, process: keyof ScenePids, samples: number): number;
};

/** Time for the work that the last samples leave behind, which counts as theirs. */
const restMs = 25;

export function createCpuMeter<Name extends string>(pids: ScenePids): CpuMeter<Name> {
  const processes = Object.keys(pids) as (keyof ScenePids)[];
  const sums = new Map<string, number>();
  return {
    async atTurn(name, moment) {
      if (moment === 'after') await pause(restMs);
      for (const process of processes) {
        const key = `${name}:${process}`;
        const cpuUs = cpuUsOf(pids[process]);
        sums.set(key, (sums.get(key) ?? 0) + (moment === 'after' ? cpuUs : -cpuUs));
      }
    },
    perSample: (name, process, samples) => (sums.get(`${name}:${process}`) ?? Number.NaN) / samples,
  };
}

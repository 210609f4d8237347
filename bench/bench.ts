/** `stopgate bench`, `npm run bench`: every figure of docs/benchmarks.md, as a ratio to the floor of the same run. */
import { AppError } from '../src/errors.ts';
import type { Figure } from './figures.ts';
import type { ScenePids } from './scene.ts';

export { formatFigures, isReached } from './figures.ts';

export type BenchOptions = {
  /** Names of `benchParts`. An empty list means all parts. */
  readonly parts: readonly string[];
  /** Take a tenth of the samples, for a first impression. The figures vary more. */
  readonly quick: boolean;
  readonly onPart: (name: string) => void;
  /** Ends the run early and cleans up. */
  readonly signal: AbortSignal;
};

/** `scale`: the share of the samples to take. `http`: the address of the service. */
type Measure = (url: string, scale: number, http: string, pids: ScenePids) => Figure[] | Promise<Figure[]>;

const measures: Readonly<Record<string, () => Promise<Measure>>> = {
  memory: async () => (await import('./memory.ts')).measureMemory,
  bounds: async () => (await import('./bounds.ts')).measureBounds,
  start: async () => (await import('./start.ts')).measureStart,
  attempts: async () => (await import('./memory.ts')).measureAttempts, // about two minutes
  latency: async () => (await import('./latency.ts')).measureLatency, // about a minute
  checks: async () => (await import('./checks.ts')).measureChecks,
  overhead: async () => (await import('./overhead.ts')).measureOverhead,
  hooks: async () => (await import('./hooks.ts')).measureHooks,
  fold: async () => (await import('./fold.ts')).measureFold,
  snapshots: async () => (await import('./snapshots.ts')).measureSnapshots,
  fleets: async () => (await import('./fleets.ts')).measureFleets, // about a minute
};
export const benchParts = Object.keys(measures);

/** Returns null if it was interrupted. @throws AppError input.bad for an unknown part; server.missing */
export async function runBench({ parts, quick, onPart, signal }: BenchOptions): Promise<Figure[] | null> {
  const unknown = parts.find((name) => !benchParts.includes(name));
  if (unknown !== undefined) {
    throw new AppError('input.bad', `the bench has no part '${unknown}'; its parts: ${benchParts.join(', ')}`);
  }
  const figures: Figure[] = [];
  const { openScene } = await import('./scene.ts');
  const scene = await openScene().catch(endedEarly);
  if (scene === null) return null;
  const aborted = new Promise<null>((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener('abort', () => resolve(null), { once: true });
  });
  /** Ctrl-C also ends the measured processes, and their end may be noticed first. */
  function endedEarly(error: unknown): null {
    if (signal.aborted) return null;
    throw error;
  }
  try {
    for (const [name, load] of Object.entries(measures)) {
      if (parts.length > 0 && !parts.includes(name)) continue;
      onPart(name);
      const measure = await load();
      const measured = await Promise.race([measure(scene.url, quick ? 0.1 : 1, scene.http, scene.pids), aborted]);
      if (measured === null) return null;
      figures.push(...measured);
    }
    return figures;
  } catch (error) {
    return endedEarly(error);
  } finally {
    await scene.close();
  }
}

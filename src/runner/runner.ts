/** Runs `command`, `files`, `git` and `judge` checks next to a workspace. Only this room starts processes, and it leaves none behind. */
import { resolve } from 'node:path';
import type { Logger } from '../log.ts';
import type { CommandConfig } from './command.ts';
import { createCommandPool, type PoolSettings } from './command-pool.ts';
import type { Environment } from './environment.ts';
import { checkFiles } from './files.ts';
import type { JudgePlace } from './judge/judge.ts';
import { cancelled, type RunRequest, type RunResult, timed } from './request.ts';

/** The settings from the configuration, which may change while checks run. */
export type RunnerSettings = {
  /** Workers' folders may be in these; relative ones are to `baseDir`. Empty: no worker's folder counts. */
  readonly roots: readonly string[];
  /** The folder of the configuration, absolute. */
  readonly baseDir: string;
  readonly commands: Readonly<Record<string, CommandConfig>>;
  /** Judges may send work and keys to these places, beside their makers' own APIs. Default: nowhere. */
  readonly judges?: readonly JudgePlace[] | undefined;
  /** The environment of this process, of which a command gets a part (environment.ts). */
  readonly env: Environment;
  /** Default 8. More of them wait, and their clocks start later. */
  readonly processesMax?: number | undefined;
};
export type RunnerOptions = RunnerSettings & {
  readonly log: Logger;
  /** Default 20,000. A check beyond them is an error at once. */
  readonly waitingMax?: number | undefined;
};

export type Runner = {
  /**
   * Never rejects: whatever goes wrong is an outcome. When `signal` is aborted the answer is `cancelled`, at once; the
   * processes end within 1.5 s. Every other answer comes when the processes are gone: a command whose time is up has
   * 0.5 s to end by itself, and so has what it leaves behind at its exit. `onStarted` is called when the check has a
   * place; its time runs from there.
   */
  run(request: RunRequest, signal: AbortSignal, onStarted?: () => void): Promise<RunResult>;
  /** Checks that wait for a free place. */
  readonly waiting: () => number;
  readonly waitingMax: number;
  /** Sets the settings for checks that come from now on. Running checks count among the new number of processes. */
  configure(settings: RunnerSettings): void;
  /** Cancels all runs, and returns when no process is left; every later run is `cancelled`. May be called again. */
  close(): Promise<void>;
};

/**
 * One folder may take half of it, which is as many as the requests that a replica holds open (`openRequestsMax`): a
 * check that comes by request hardly reaches this bound, and a flood of published attempts cannot fill the memory with
 * checks that will be answered too late anyway.
 */
const waitingMaxDefault = 20_000;

const toPoolSettings = ({ processesMax = 8, judges = [], roots, ...settings }: RunnerSettings): PoolSettings => ({
  ...{ ...settings, processesMax, judges },
  roots: roots.map((root) => resolve(settings.baseDir, root)),
});

export function createRunner({ log, waitingMax = waitingMaxDefault, ...first }: RunnerOptions): Runner {
  let settings = toPoolSettings(first);
  const pool = createCommandPool({ ...settings, waitingMax, log });
  const running = new Map<() => void, Promise<RunResult>>(); // by what aborts them
  let closed = false;

  async function answer(request: RunRequest, signal: AbortSignal, onStarted: () => void): Promise<RunResult> {
    if (signal.aborted) return { ...cancelled, tookMs: 0 };
    if (request.kind !== 'files') return pool.run(request, signal, onStarted);
    onStarted();
    return timed(checkFiles(request, settings, signal));
  }

  return {
    waiting: pool.waiting,
    waitingMax,
    configure(changed) {
      settings = toPoolSettings(changed);
      pool.configure(settings);
    },
    async run(request, signal, onStarted = () => {}) {
      const controller = new AbortController();
      const abort = () => controller.abort();
      if (closed || signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
      try {
        const answering = answer(request, controller.signal, onStarted);
        running.set(abort, answering);
        const result = await answering;
        const { outcome, tookMs } = result;
        log.debug(
          { kind: request.kind, command: 'name' in request ? request.name : null, outcome, tookMs },
          'check ran',
        );
        return result;
      } finally {
        running.delete(abort);
        signal.removeEventListener('abort', abort);
      }
    },
    async close() {
      closed = true;
      for (const abort of running.keys()) abort();
      await Promise.allSettled(running.values());
      await pool.close();
    },
  };
}

/** Runs `command`, `files` and `git` checks where the workers' folders are, and leaves no processes behind. */
import { dirname, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Environment } from '../config/environment.ts';
import { type CommandConfig, type ConfigFile, type GitConfig, gitDefault } from '../config/file.ts';
import type { RunRequest } from '../host/effects/run-request.ts';
import type { Logger } from '../log.ts';
import type { Io } from '../terminal/process-io.ts';
import { notNeeded } from '../timer.ts';
import { createCommandPool, type PoolSettings } from './command-pool.ts';
import { checkFiles } from './files.ts';
import { cancelled, type TimedReply, timed } from './reply.ts';

/** Settings from the configuration, which may change while checks run. */
type RunnerSettings = {
  /** Folders in which workers' folders are allowed, relative to `baseDir`. If empty, no worker's folder is. */
  readonly roots: readonly string[];
  /** The folder of the configuration, absolute. */
  readonly baseDir: string;
  readonly commands: Readonly<Record<string, CommandConfig>>;
  /** What counts as uncommitted work. By default, untracked files and nested worktrees do. */
  readonly git?: GitConfig | undefined;
  /** The environment of this process. Commands inherit a part of it. */
  readonly env: Environment;
  /**
   * Maximum number of checks that run processes at the same time. Others wait, and their timeouts start later. Default:
   * 8.
   */
  readonly processesMax?: number | undefined;
};
export type RunnerOptions = RunnerSettings & {
  readonly log: Logger;
  /** Maximum number of waiting checks. Further ones fail at once with an error. Default: 20,000. */
  readonly waitingMax?: number | undefined;
};

export type Runner = {
  /**
   * Never rejects; failures are outcomes. If `signal` is aborted, it resolves to `cancelled` at once, and the processes
   * end within 1.5 s. Otherwise it resolves when all processes are gone. After a timeout, the command has 0.5 s to exit
   * before SIGKILL, and so have processes that it leaves behind. `onStarted` is called when the check gets a slot; its
   * timeout starts then.
   */
  run(request: RunRequest, signal: AbortSignal, onStarted?: () => void): Promise<TimedReply>;
  /** Number of checks that wait for a slot. */
  readonly waiting: () => number;
  readonly waitingMax: number;
  /** Applies new settings to later checks. Running checks count towards the new `processesMax`. */
  configure(settings: RunnerSettings): void;
  /** Cancels all runs and resolves when no process is left. Later runs are `cancelled`. Idempotent. */
  close(): Promise<void>;
};

/**
 * Bounds the memory for checks of published attempts, which would be answered too late anyway. One folder may use half
 * of it, which is as many as the requests that a replica holds open (`openRequestsMax`), so checks caused by requests
 * hardly ever reach this limit.
 */
const waitingMaxDefault = 20_000;

const toPoolSettings = ({ processesMax = 8, git = gitDefault, roots, ...settings }: RunnerSettings): PoolSettings => ({
  ...settings,
  processesMax,
  git,
  roots: roots.map((root) => resolve(settings.baseDir, root)),
});

export function createRunner({ log, waitingMax = waitingMaxDefault, ...first }: RunnerOptions): Runner {
  let settings = toPoolSettings(first);
  const pool = createCommandPool({ ...settings, waitingMax, log });
  const running = new Map<() => void, Promise<TimedReply>>(); // keyed by the abort function
  let closed = false;

  async function answer(request: RunRequest, signal: AbortSignal, onStarted: () => void): Promise<TimedReply> {
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
      const abort = () => controller.abort(notNeeded);
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

/** A runner configured by a stopgate.yaml that may change, in the service or in a runner process. */
export type ReloadingRunner = Omit<Runner, 'configure'> & { configure(file: ConfigFile): void };

/** Checks of the old and the new file share one runner and its slots. */
export function createReloadingRunner(
  config: Pick<Config, 'file' | 'filePath'>,
  env: Io['env'],
  logger: Logger,
): ReloadingRunner {
  const settingsOf = ({ roots, commands, git, concurrency }: ConfigFile): RunnerSettings => ({
    roots,
    commands,
    git,
    env,
    baseDir: dirname(config.filePath),
    processesMax: concurrency,
  });
  const runner = createRunner({ ...settingsOf(config.file), log: logger });
  return { ...runner, configure: (file) => runner.configure(settingsOf(file)) };
}

/** Runs `command`, `files` and `git` checks next to a workspace. Only this room starts processes, and it leaves none behind. */
import { dirname, resolve } from 'node:path';
import { type Admission, createFairSemaphore, type Party } from '../concurrency/semaphore.ts';
import type { Config } from '../config/config.ts';
import type { Environment } from '../config/environment.ts';
import { type CommandConfig, type ConfigFile, type GitConfig, gitDefault } from '../config/file.ts';
import type { CheckReply } from '../host/effects/check-reply.ts';
import type { RunRequest } from '../host/effects/run-request.ts';
import type { Logger } from '../log.ts';
import type { Io } from '../terminal/process-io.ts';
import { createInterruption, notNeeded } from '../timer.ts';
import { type CommandRequest, runCommand, unknownCommand } from './command.ts';
import { checkFiles } from './files.ts';
import { checkGit, type GitRequest, gitTimeoutMs } from './git/check.ts';
import { createKeptPasses } from './kept-passes.ts';
import { type Group, signalGroup } from './process-group.ts';
import { cancelled, type TimedReply, timed } from './reply.ts';

/** The settings from the configuration, which may change while checks run. */
export type RunnerSettings = {
  /** Workers' folders may be in these; relative ones are to `baseDir`. Empty: no worker's folder counts. */
  readonly roots: readonly string[];
  /** The folder of the configuration, absolute. */
  readonly baseDir: string;
  readonly commands: Readonly<Record<string, CommandConfig>>;
  /** What counts as uncommitted work. Default: untracked files and nested worktrees, too. */
  readonly git?: GitConfig | undefined;
  /** The environment of this process, of which a command gets a part. */
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
  run(request: RunRequest, signal: AbortSignal, onStarted?: () => void): Promise<TimedReply>;
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

const toPoolSettings = ({ processesMax = 8, git = gitDefault, roots, ...settings }: RunnerSettings): PoolSettings => ({
  ...settings,
  processesMax,
  git,
  roots: roots.map((root) => resolve(settings.baseDir, root)),
});

export function createRunner({ log, waitingMax = waitingMaxDefault, ...first }: RunnerOptions): Runner {
  let settings = toPoolSettings(first);
  const pool = createCommandPool({ ...settings, waitingMax, log });
  const running = new Map<() => void, Promise<TimedReply>>(); // by what aborts them
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

// Runs checks that need processes side by side, up to a limit, and leaves no process behind.

/** The settings from the configuration, which may change while checks run. Paths are absolute. */
type PoolSettings = {
  readonly roots: readonly string[];
  readonly baseDir: string;
  readonly commands: Readonly<Record<string, CommandConfig>>;
  readonly git: GitConfig;
  readonly env: Environment;
  readonly processesMax: number;
};
type CommandPoolOptions = PoolSettings & { readonly log: Logger; readonly waitingMax: number };

/**
 * A worker waits for one check at a time: the others are of attempts that a later one has replaced, or come from a
 * script that asks by itself, which may well send a hundred.
 */
const waitingPerWorkerMax = 128;

type PoolRequest = CommandRequest | GitRequest;
type CommandPool = {
  /** `onStarted`: the check has a place, and its time runs. */
  run(request: PoolRequest, signal: AbortSignal, onStarted: () => void): Promise<TimedReply>;
  readonly waiting: () => number;
  /** Sets the settings for checks that come from now on; all share the new number of places. */
  configure(settings: PoolSettings): void;
  /** Waits for the processes of runs that were answered. The caller must abort those that were not. */
  close(): Promise<void>;
};

function createCommandPool({ log, waitingMax, ...first }: CommandPoolOptions): CommandPool {
  let settings: PoolSettings = first;
  const slots = createFairSemaphore({
    countMax: first.processesMax,
    waitingMax,
    perWorkerMax: waitingPerWorkerMax,
  });
  const groups = new Map<number, Promise<boolean>>();
  const passes = createKeptPasses();
  /** Kills the process groups at a crash, where there is no time for SIGTERM: otherwise they would outlive us. */
  const onExit = () => {
    for (const id of groups.keys()) signalGroup(id, 'SIGKILL');
  };
  process.once('exit', onExit);

  async function track({ id, gone }: Group, name: string): Promise<void> {
    if (id !== null) groups.set(id, gone);
    if (!(await gone)) log.warn({ command: name, processGroup: id }, 'process group outlived SIGKILL');
    if (id !== null) groups.delete(id);
  }

  /** `config` null: it is no command. */
  async function runInSlot(
    request: PoolRequest,
    config: CommandConfig | null,
    place: PoolSettings,
    signal: AbortSignal,
  ): Promise<CheckReply> {
    const timeoutMs = request.timeoutMs ?? config?.timeoutMs ?? gitTimeoutMs;
    const stop = createInterruption(timeoutMs, signal);
    const tracked: Promise<void>[] = [];
    const program = request.kind === 'command' ? request.name : 'git';
    const onStart = (group: Group) => void tracked.push(track(group, program));
    try {
      if (request.kind === 'git') return await checkGit(request, { ...place, onStart }, { stop, timeoutMs });
      return await runCommand(request, config as CommandConfig, { ...place, passes, onStart }, { stop, timeoutMs });
    } finally {
      stop.clear();
      // The place is free when its processes are gone, which may be after the answer.
      void Promise.all(tracked).then(() => slots.release());
    }
  }

  return {
    waiting: slots.waiting,
    async run(request, signal, onStarted) {
      const place = settings;
      const config = request.kind === 'command' ? findCommand(place, request.name) : null;
      if (config === undefined) return { ...unknownCommand((request as CommandRequest).name), tookMs: 0 };
      const admission = await slots.acquire(partyOf(request, config), signal);
      if (admission !== 'admitted') return { ...notAdmitted(admission, waitingMax), tookMs: 0 };
      onStarted();
      return timed(runInSlot(request, config, place, signal));
    },
    configure(changed) {
      settings = changed;
      passes.clear();
      slots.resize(changed.processesMax);
    },
    async close() {
      await Promise.all(groups.values());
      process.off('exit', onExit);
    },
  };
}

const findCommand = ({ commands }: PoolSettings, name: string) =>
  Object.hasOwn(commands, name) ? commands[name] : undefined;

/** A command with a folder of its own does not look at the worker's, whatever that is said to be. */
function partyOf(request: PoolRequest, config: CommandConfig | null): Party {
  const worker = (request.kind === 'command' ? request.env.worker : request.worker) ?? null;
  const isThere = config === null || config.cwd === 'worker';
  return { worker, folder: isThere && request.cwd !== null ? resolve(request.cwd) : null };
}

function notAdmitted(admission: Exclude<Admission, 'admitted'>, waitingMax: number): CheckReply {
  if (admission === 'aborted') return cancelled;
  const raise = 'raise concurrency: in its configuration';
  const reason =
    admission === 'full'
      ? `${waitingMax} checks may wait for a free place on the runner, at most half of them in one folder, and no more fit: ${raise}`
      : `more than ${waitingPerWorkerMax} checks of one worker waited for a free place on the runner, and this was the oldest`;
  return { outcome: 'error', reason };
}

/** The runner of a stopgate.yaml that may change, in the service or in a runner process. */
export type ReloadingRunner = Omit<Runner, 'configure'> & { configure(file: ConfigFile): void };

/** One runner, whatever the file says: its places are shared by the checks of the old file and of the new. */
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

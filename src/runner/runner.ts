/** Runs `command`, `files` and `git` checks next to a workspace, and leaves no processes behind. */
import { dirname, resolve } from 'node:path';
import { type AcquireResult, type Caller, createFairSemaphore } from '../concurrency/semaphore.ts';
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
import { findFixedFolder, findWorkerFolder } from './folder.ts';
import { checkGit, type GitRequest, gitTimeoutMs } from './git/check.ts';
import { readTree, treeDuring, treeTimeoutMs } from './git/judged-tree.ts';
import { createPassCache } from './pass-cache.ts';
import { type Group, signalGroup } from './process-group.ts';
import { cancelled, type TimedReply, timed } from './reply.ts';

/** Settings from the configuration, which may change while checks run. */
export type RunnerSettings = {
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

// The pool runs checks that need processes, with limited concurrency, and leaves no processes behind.

/** Like `RunnerSettings`, with defaults applied and absolute paths. */
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
 * A worker normally waits for one check at a time. Others belong to replaced attempts, or to a script that may request
 * a hundred at once.
 */
const waitingPerWorkerMax = 128;

type PoolRequest = CommandRequest | GitRequest;
type CommandPool = {
  run(request: PoolRequest, signal: AbortSignal, onStarted: () => void): Promise<TimedReply>;
  readonly waiting: () => number;
  configure(settings: PoolSettings): void;
  /** Waits for the processes of finished runs. The caller must abort unfinished runs first. */
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
  const passes = createPassCache();
  /** At a crash there is no time for SIGTERM, and the process groups would outlive us. */
  const onExit = () => {
    for (const id of groups.keys()) signalGroup(id, 'SIGKILL');
  };
  process.once('exit', onExit);

  async function track({ id, gone }: Group, name: string): Promise<void> {
    if (id !== null) groups.set(id, gone);
    if (!(await gone)) log.warn({ command: name, processGroup: id }, 'process group outlived SIGKILL');
    if (id !== null) groups.delete(id);
  }

  /** `config` is null for a git check. */
  async function runInSlot(
    request: PoolRequest,
    config: CommandConfig | null,
    workspace: PoolSettings,
    signal: AbortSignal,
  ): Promise<TimedReply> {
    const timeoutMs = request.timeoutMs ?? config?.timeoutMs ?? gitTimeoutMs;
    const tracked: Promise<void>[] = [];
    const program = request.kind === 'command' ? request.name : 'git';
    const onStart = (group: Group) => void tracked.push(track(group, program));
    const stop = createInterruption(timeoutMs, signal);
    const limits = { untilMs: performance.now() + timeoutMs, signal };
    try {
      return await withTree(request, config, { ...workspace, onStart }, limits, () =>
        timed(
          request.kind === 'git'
            ? checkGit(request, { ...workspace, onStart }, { stop, timeoutMs })
            : runCommand(request, config as CommandConfig, { ...workspace, passes, onStart }, { stop, timeoutMs }),
        ),
      );
    } finally {
      stop.clear();
      // Free the slot when the processes are gone, which may be after the reply.
      void Promise.all(tracked).then(() => slots.release());
    }
  }

  return {
    waiting: slots.waiting,
    async run(request, signal, onStarted) {
      const workspace = settings; // the check keeps the settings that were current at its request
      const config = request.kind === 'command' ? findCommand(workspace, request.name) : null;
      if (config === undefined) return { ...unknownCommand((request as CommandRequest).name), tookMs: 0 };
      const admission = await slots.acquire(callerOf(request, config), signal);
      if (admission !== 'admitted') return { ...notAdmitted(admission, waitingMax), tookMs: 0 };
      onStarted();
      return runInSlot(request, config, workspace, signal);
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

/** Adds to a pass which tree it is about, as `metadata.git`. A program's own word on that does not count. */
async function withTree(
  request: PoolRequest,
  config: CommandConfig | null,
  workspace: PoolSettings & { readonly onStart: (group: Group) => void },
  { untilMs, signal }: { readonly untilMs: number; readonly signal: AbortSignal },
  check: () => Promise<TimedReply>,
): Promise<TimedReply> {
  const folder =
    config === null || config.cwd === 'worker'
      ? await findWorkerFolder(request.cwd, workspace)
      : await findFixedFolder(config.cwd, workspace.baseDir);
  /** Leaves the check most of its own time, and the answer enough to be in time. */
  const read = (depth: 'quick' | 'whole') => {
    const timeoutMs = Math.max(1, Math.min(treeTimeoutMs, (untilMs - performance.now()) / 4));
    return 'reason' in folder ? null : readTree(folder.path, workspace, depth, { timeoutMs, signal });
  };
  const before = await read('quick');
  const reply = await check();
  if (reply.outcome !== 'pass') return reply;
  const isNamed = before !== null && !('unknown' in before);
  const tree = treeDuring(before, isNamed ? await read('whole') : before);
  const { git: _, ...metadata } = reply.metadata ?? {};
  if (tree !== null) return { ...reply, metadata: { ...metadata, git: tree } };
  return reply.metadata === undefined ? reply : { ...reply, metadata };
}

const findCommand = ({ commands }: PoolSettings, name: string) =>
  Object.hasOwn(commands, name) ? commands[name] : undefined;

/** The worker's folder counts only if the check uses it. A command may have a fixed folder instead. */
function callerOf(request: PoolRequest, config: CommandConfig | null): Caller {
  const worker = (request.kind === 'command' ? request.env.worker : request.worker) ?? null;
  const usesWorkerFolder = config === null || config.cwd === 'worker';
  return { worker, folder: usesWorkerFolder && request.cwd !== null ? resolve(request.cwd) : null };
}

function notAdmitted(admission: Exclude<AcquireResult, 'admitted'>, waitingMax: number): CheckReply {
  if (admission === 'aborted') return cancelled;
  const raise = 'raise concurrency: in its configuration';
  const reason =
    admission === 'full'
      ? `too many checks wait for the runner (at most ${waitingMax}, and half of that in one folder): ${raise}`
      : `more than ${waitingPerWorkerMax} checks of one worker waited for the runner, and this was the oldest`;
  return { outcome: 'error', reason };
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

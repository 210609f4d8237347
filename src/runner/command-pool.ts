/** Runs the checks that need processes, with limited concurrency, and leaves no processes behind. */
import { resolve } from 'node:path';
import { type AcquireResult, type Caller, createFairSemaphore } from '../concurrency/fair-semaphore.ts';
import type { Environment } from '../config/environment.ts';
import type { CommandConfig, GitConfig } from '../config/file.ts';
import type { CheckReply } from '../host/effects/check-reply.ts';
import type { Logger } from '../log.ts';
import { createInterruption } from '../timer.ts';
import { type CommandRequest, runCommand, unknownCommand } from './command.ts';
import { findFixedFolder, findWorkerFolder } from './folder.ts';
import { checkGit, type GitRequest, gitTimeoutMs } from './git/check.ts';
import { readTree, treeDuring, treeTimeoutMs } from './git/judged-tree.ts';
import { createPassCache } from './pass-cache.ts';
import { type Group, signalGroup } from './process-group.ts';
import { cancelled, type TimedReply, timed } from './reply.ts';

/** Like `RunnerSettings`, with defaults applied and absolute paths. */
export type PoolSettings = {
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

export function createCommandPool({ log, waitingMax, ...first }: CommandPoolOptions): CommandPool {
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

/** Adds to a pass the tree on which the check ran, as `metadata.git`. Replaces a claim of the program itself. */
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
  /** Uses at most a quarter of the remaining time, so that the check and its reply are not late. */
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

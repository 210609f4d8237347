/** The commands that run at the same time: no more than so many, and not one of their processes left behind. */
import type { Logger } from '../log.ts';
import { type CommandConfig, type CommandRequest, runCommand, unknownCommand } from './command.ts';
import { createInterruption } from './interruption.ts';
import { type Group, signalGroup } from './process-group.ts';
import { cancelled, type Finding, type RunResult, timed } from './request.ts';
import { createSlots } from './slots.ts';

export type CommandPoolOptions = {
  readonly roots: readonly string[];
  readonly baseDir: string;
  readonly commands: Readonly<Record<string, CommandConfig>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  readonly processesMax: number;
};
export type CommandPool = {
  run(request: CommandRequest, signal: AbortSignal): Promise<RunResult>;
  /** Waits for the processes of runs that were answered. Those without an answer are the caller's to abort. */
  close(): Promise<void>;
};

export function createCommandPool({ commands, log, processesMax, ...place }: CommandPoolOptions): CommandPool {
  const slots = createSlots(processesMax);
  const groups = new Map<number, Promise<boolean>>();
  /** For a crash, which has no time to be polite: a group of its own would outlive us. */
  const onExit = () => {
    for (const id of groups.keys()) signalGroup(id, 'SIGKILL');
  };
  process.once('exit', onExit);

  async function watch({ id, gone }: Group, command: string): Promise<void> {
    if (id !== null) groups.set(id, gone);
    if (!(await gone)) log.warn({ command, processGroup: id }, 'process group outlived SIGKILL');
    if (id !== null) groups.delete(id);
    slots.give(); // the place is free when the group is gone, which may be after the answer
  }

  async function runInSlot(request: CommandRequest, config: CommandConfig, signal: AbortSignal): Promise<Finding> {
    const timeoutMs = request.timeoutMs ?? config.timeoutMs;
    const stop = createInterruption(timeoutMs, signal);
    let started = false;
    const onStart = (group: Group) => {
      started = true;
      void watch(group, request.name);
    };
    try {
      return await runCommand(request, config, { ...place, onStart }, { stop, timeoutMs });
    } finally {
      stop.clear();
      if (!started) slots.give();
    }
  }

  return {
    async run(request, signal) {
      const config = Object.hasOwn(commands, request.name) ? commands[request.name] : undefined;
      if (config === undefined) return { ...unknownCommand(request.name), tookMs: 0 };
      if (!(await slots.take(signal))) return { ...cancelled, tookMs: 0 };
      return timed(runInSlot(request, config, signal));
    },
    async close() {
      await Promise.all(groups.values());
      process.off('exit', onExit);
    },
  };
}

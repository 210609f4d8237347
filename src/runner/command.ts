/** The `command` check: one program of the configuration, by name. Nothing that it runs comes over the wire. */
import { formatDuration } from '../../machines/index.ts';
import { basicVariables, type Environment, pickVariables } from './environment.ts';
import { findFixedFolder, findWorkerFolder } from './folder.ts';
import type { Interruption } from './interruption.ts';
import type { KeptPasses } from './kept-passes.ts';
import { collectOutput, type FeedbackMode } from './output.ts';
import { type Group, type GroupEnd, startGroup } from './process-group.ts';
import { cancelled, type Finding, quote, type RunIds, type RunRequest } from './request.ts';

/**
 * `run`: program and arguments, no shell; a program with a slash is found from the command's folder, else by PATH.
 * `cwd`: `worker` is the worker's own folder, anything else a folder relative to the configuration's.
 */
export type CommandConfig = {
  readonly run: readonly [string, ...string[]];
  readonly cwd: 'worker' | (string & {});
  readonly timeoutMs: number;
  readonly feedback: FeedbackMode;
  /** Variables of the service that it gets beside the basic ones, by name. */
  readonly inherit?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** `tree`: it is not run again while the git state of its folder is the one in which it passed. */
  readonly reuse?: 'tree' | undefined;
};

export type CommandRequest = Extract<RunRequest, { kind: 'command' }>;
/** `env`: the service's own environment. `onStart` gets the group once it runs. */
export type CommandPlace = {
  readonly roots: readonly string[];
  readonly baseDir: string;
  readonly env: Environment;
  readonly passes: KeptPasses;
  onStart(group: Group): void;
};

/** @param timeoutMs for the message; `stop` has the clock */
export async function runCommand(
  request: CommandRequest,
  config: CommandConfig,
  place: CommandPlace,
  { stop, timeoutMs }: { readonly stop: Interruption; readonly timeoutMs: number },
): Promise<Finding> {
  const about = { name: request.name, program: config.run[0], timeoutMs };
  const folder = await Promise.race([findCommandFolder(request, config, place), stop.happened]);
  if (typeof folder === 'string') return findingOf({ by: folder }, about);
  if ('reason' in folder) return { outcome: 'error', reason: folder.reason };
  // The folder may have been found just as the interruption came.
  if (stop.cause !== null) return findingOf({ by: stop.cause }, about);
  const run = async (): Promise<Finding> => {
    // What git was asked before may have taken all its time.
    if (stop.cause !== null) return findingOf({ by: stop.cause }, about);
    const output = collectOutput(config.feedback);
    const env = environmentOf(place.env, request.env, config);
    const group = startGroup({ run: config.run, cwd: folder.path, env, onOutput: output.add }, stop);
    place.onStart(group);
    const end = await group.ended;
    const feedback = end.by === 'refused' || end.by === 'cancelled' ? undefined : output.feedback();
    return { ...findingOf(end, about), ...(feedback !== undefined && { feedback }) };
  };
  if (config.reuse !== 'tree') return run();
  return place.passes.takeOrRun({ name: request.name, config, folder: folder.path, place, stop }, run);
}

const findCommandFolder = (request: CommandRequest, { cwd }: CommandConfig, { roots, baseDir }: CommandPlace) =>
  cwd === 'worker' ? findWorkerFolder(request.cwd, { roots, baseDir }) : findFixedFolder(cwd, baseDir);

/**
 * Builds the environment of a command: the variables that say where things are, and those that it inherits by name;
 * then the ids. The command's own variables win.
 */
function environmentOf(ours: Environment, ids: RunIds, { inherit = [], env }: CommandConfig): Record<string, string> {
  const given = {
    STOPGATE_FLEET: ids.fleet,
    STOPGATE_WORKER: ids.worker,
    STOPGATE_TASK: ids.task,
    STOPGATE_ATTEMPT: ids.attempt,
  };
  const asked = Object.entries(given).filter((it): it is [string, string] => typeof it[1] === 'string');
  return { ...pickVariables(ours, [...basicVariables, ...inherit]), ...Object.fromEntries(asked), ...env };
}

/** Exit 0 is a pass, any other ordinary exit a fail; all else means that nobody could tell (protocol.md §8). */
function findingOf(end: GroupEnd, about: { name: string; program: string; timeoutMs: number }): Finding {
  const error = (reason: string): Finding => ({ outcome: 'error', reason });
  const { name, program, timeoutMs } = about;
  switch (end.by) {
    case 'exit':
      if (end.code === 0) return { outcome: 'pass' };
      // A shell's codes for a program that could not be run; every other is the program's own no.
      if (end.code === 126) return error(`Command ${name} could not be run (exit 126: not executable)`);
      if (end.code === 127) return error(`Command ${name} could not be run (exit 127: not found)`);
      return { outcome: 'fail', reason: `Command ${name} failed (exit ${end.code})` };
    case 'signal':
      return error(`Command ${name} was killed by ${end.signal}`);
    case 'timeout':
      return { outcome: 'timeout', reason: `Command ${name} took longer than ${formatDuration(timeoutMs)}` };
    case 'cancelled':
      return cancelled;
    case 'refused':
      return error(`cannot run ${program}: ${end.code === 'ENOENT' ? 'not found' : end.code}`);
  }
}

export const unknownCommand = (name: string): Finding => ({
  outcome: 'error',
  reason: `the runner has no command ${quote(name)}: commands are named under commands: in its configuration`,
});

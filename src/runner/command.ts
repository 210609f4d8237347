/**
 * The `command` check: runs a configured program. A request only names it; the command line comes from the
 * configuration.
 */

import { entrySchemas, formatDuration } from '../../machines/index.ts';
import type { Environment } from '../config/environment.ts';
import type { CommandConfig } from '../config/file.ts';
import { type CheckReply, readCheckReply } from '../host/effects/check-reply.ts';
import type { RunIds, RunRequest } from '../host/effects/run-request.ts';
import { tryJson } from '../text/json-text.ts';
import type { Interruption } from '../timer.ts';
import { basicVariables, pickVariables } from './child-environment.ts';
import { collectOutput, collectTail, isShallow, jsonDepthMax } from './command-output.ts';
import { findFixedFolder, findWorkerFolder } from './folder.ts';
import { readChanges } from './git/diff.ts';
import type { PassCache } from './pass-cache.ts';
import { type Group, type GroupEnd, startGroup } from './process-group.ts';
import { cancelled, quote } from './reply.ts';

export type CommandRequest = Extract<RunRequest, { kind: 'command' }>;
/** `env`: the environment of this process. `onStart` is called once the process group runs. */
type CommandWorkspace = {
  readonly roots: readonly string[];
  readonly baseDir: string;
  readonly env: Environment;
  readonly passes: PassCache;
  onStart(group: Group): void;
};

/** @param timeoutMs only for the message; `stop` enforces it */
export async function runCommand(
  request: CommandRequest,
  config: CommandConfig,
  workspace: CommandWorkspace,
  { stop, timeoutMs }: { readonly stop: Interruption; readonly timeoutMs: number },
): Promise<CheckReply> {
  const details = { name: request.name, program: config.run[0], timeoutMs };
  const folder = await Promise.race([findCommandFolder(request, config, workspace), stop.happened]);
  if (typeof folder === 'string') return toReply({ by: folder }, details);
  if ('reason' in folder) return { outcome: 'error', reason: folder.reason };
  // The interruption may have come in the same moment as the folder.
  if (stop.cause !== null) return toReply({ by: stop.cause }, details);
  if (config.speaks === 'json')
    return runJsonCommand(request, config, { ...workspace, folder: folder.path }, { stop, details });
  const run = async (): Promise<CheckReply> => {
    // Reading the git state may have used up the time.
    if (stop.cause !== null) return toReply({ by: stop.cause }, details);
    const output = collectOutput(config.feedback);
    const env = environmentOf(workspace.env, request.env, config);
    const group = startGroup({ run: config.run, cwd: folder.path, env, onOutput: output.add }, stop);
    workspace.onStart(group);
    const end = await group.ended;
    const feedback = end.by === 'refused' || end.by === 'cancelled' ? undefined : output.feedback();
    return { ...toReply(end, details), ...(feedback !== undefined && { feedback }) };
  };
  if (config.reuse !== 'tree') return run();
  return workspace.passes.getOrRun(
    { name: request.name, config, task: request.env.task ?? null, folder: folder.path, workspace, stop },
    run,
  );
}

/** The values that messages name. */
type Details = { readonly name: string; readonly program: string; readonly timeoutMs: number };

/** Generous: a judge replies with a few sentences. */
const replyBytesMax = 262_144;

/**
 * Runs a command that speaks JSON (protocol.md §8). It gets the question on stdin, and its stdout must be one JSON
 * object in a form allowed for replies of remote checks. Everything else is an error of the check, never a pass.
 */
async function runJsonCommand(
  { name, cwd, env, question }: CommandRequest,
  config: CommandConfig,
  workspace: CommandWorkspace & { readonly folder: string },
  { stop, details }: { readonly stop: Interruption; readonly details: Details },
): Promise<CheckReply> {
  const diff = config.diff === true ? await readDiff(cwd, workspace, stop) : undefined;
  if (typeof diff === 'object' && diff !== null) return { outcome: 'error', reason: diff.reason };
  if (stop.cause !== null) return toReply({ by: stop.cause }, details);
  const chunks: Buffer[] = [];
  let bytes = 0;
  const errors = collectTail();
  const group = startGroup(
    {
      run: config.run,
      cwd: workspace.folder,
      env: environmentOf(workspace.env, env, config),
      input: `${JSON.stringify({ ...question?.(), ...(diff !== undefined && { diff }) })}\n`,
      onOutput(stream, chunk) {
        if (stream === 'stderr') errors.add(stream, chunk);
        else {
          bytes += chunk.length;
          if (bytes <= replyBytesMax) chunks.push(chunk);
        }
      },
    },
    stop,
  );
  workspace.onStart(group);
  const end = await group.ended;
  const feedback = errors.text();
  const value = bytes > replyBytesMax ? null : tryJson(Buffer.concat(chunks).toString('utf8'));
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  // Counted even if the reply is invalid, because the model was paid for.
  const usage = isObject && 'usage' in value ? usageSchema.safeParse(value.usage).data : undefined;
  const finish = (reply: CheckReply): CheckReply => (usage === undefined ? reply : { ...reply, usage });
  const fail = (reply: CheckReply): CheckReply => finish({ ...reply, ...(feedback !== '' && { feedback }) });
  if (end.by !== 'exit' || end.code !== 0) {
    const reply = toReply(end, details);
    return fail(reply.outcome === 'fail' ? { ...reply, outcome: 'error' } : reply);
  }
  const invalid = (why: string) => fail({ outcome: 'error', reason: `Command ${name} ${why}` });
  if (bytes > replyBytesMax) return invalid(`printed more than ${replyBytesMax} bytes`);
  if (!isObject) return invalid('did not print one JSON object');
  if (!isShallow(value, jsonDepthMax)) return invalid(`printed JSON that nests deeper than ${jsonDepthMax}`);
  const reply = readCheckReply(value);
  return reply === null ? invalid('printed JSON that is not a check reply') : finish(reply);
}

const usageSchema = entrySchemas.worker['usage.reported'];

/** Returns null if the folder is not in a repository. */
async function readDiff(
  cwd: string | null,
  workspace: CommandWorkspace,
  stop: Interruption,
): Promise<string | null | { readonly reason: string }> {
  const changes = await Promise.race([readChanges(cwd, workspace, stop), stop.happened]);
  if (typeof changes === 'string' || 'interrupted' in changes) return null; // the caller handles `stop.cause`
  return 'reason' in changes ? changes : changes.text;
}

const findCommandFolder = (request: CommandRequest, { cwd }: CommandConfig, { roots, baseDir }: CommandWorkspace) =>
  cwd === 'worker' ? findWorkerFolder(request.cwd, { roots, baseDir }) : findFixedFolder(cwd, baseDir);

/**
 * Builds a command's environment: basic variables and those it inherits by name, then the ids, then its own variables.
 * Later ones override earlier ones.
 */
function environmentOf(ours: Environment, ids: RunIds, { inherit = [], env }: CommandConfig): Record<string, string> {
  const idVariables = {
    STOPGATE_FLEET: ids.fleet,
    STOPGATE_WORKER: ids.worker,
    STOPGATE_TASK: ids.task,
    STOPGATE_ATTEMPT: ids.attempt,
  };
  const known = Object.entries(idVariables).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { ...pickVariables(ours, [...basicVariables, ...inherit]), ...Object.fromEntries(known), ...env };
}

/** Exit code 0 is a pass and any other code a fail, except 126 and 127. All other ends are errors (protocol.md §8). */
function toReply(end: GroupEnd, details: Details): CheckReply {
  const error = (reason: string): CheckReply => ({ outcome: 'error', reason });
  const { name, program, timeoutMs } = details;
  switch (end.by) {
    case 'exit':
      if (end.code === 0) return { outcome: 'pass' };
      // A shell's exit codes for a program that could not be run.
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

export const unknownCommand = (name: string): CheckReply => ({
  outcome: 'error',
  reason: `the runner has no command ${quote(name)}: define it under commands: in its configuration`,
});

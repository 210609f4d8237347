/** The `command` check: one program of the configuration, by name. Nothing that it runs comes over the wire. */

import { StringDecoder } from 'node:string_decoder';
import { entrySchemas, formatDuration } from '../../machines/index.ts';
import type { Environment } from '../config/environment.ts';
import type { CommandConfig } from '../config/file.ts';
import { type CheckReply, readCheckReply } from '../host/effects/check-reply.ts';
import type { RunIds, RunRequest } from '../host/effects/run-request.ts';
import type { Interruption } from '../timer.ts';
import { findFixedFolder, findWorkerFolder } from './folder.ts';
import { readChanges } from './git/diff.ts';
import type { KeptPasses } from './kept-passes.ts';
import { basicVariables, type Group, type GroupEnd, pickVariables, startGroup } from './process-group.ts';
import { cancelled, quote } from './reply.ts';

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
): Promise<CheckReply> {
  const about = { name: request.name, program: config.run[0], timeoutMs };
  const folder = await Promise.race([findCommandFolder(request, config, place), stop.happened]);
  if (typeof folder === 'string') return findingOf({ by: folder }, about);
  if ('reason' in folder) return { outcome: 'error', reason: folder.reason };
  // The folder may have been found just as the interruption came.
  if (stop.cause !== null) return findingOf({ by: stop.cause }, about);
  if (config.speaks === 'json') return converse(request, config, { ...place, folder: folder.path }, { stop, about });
  const run = async (): Promise<CheckReply> => {
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
  return place.passes.takeOrRun(
    { name: request.name, config, task: request.env.task ?? null, folder: folder.path, place, stop },
    run,
  );
}

type About = { readonly name: string; readonly program: string; readonly timeoutMs: number };

/** The reply of a judge has a few sentences. */
const replyBytesMax = 262_144;

/**
 * Runs a command that speaks JSON (protocol.md §8): it gets the question on stdin, and its stdout must be one JSON object in a
 * form in which a remote check may reply. Everything else is an error of the check, never a pass.
 */
async function converse(
  { name, cwd, env, question }: CommandRequest,
  config: CommandConfig,
  place: CommandPlace & { readonly folder: string },
  { stop, about }: { readonly stop: Interruption; readonly about: About },
): Promise<CheckReply> {
  const diff = config.diff === true ? await readDiff(cwd, place, stop) : undefined;
  if (typeof diff === 'object' && diff !== null) return { outcome: 'error', reason: diff.reason };
  if (stop.cause !== null) return findingOf({ by: stop.cause }, about);
  const chunks: Buffer[] = [];
  let bytes = 0;
  const errors = collectTail();
  const group = startGroup(
    {
      run: config.run,
      cwd: place.folder,
      env: environmentOf(place.env, env, config),
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
  place.onStart(group);
  const end = await group.ended;
  const feedback = errors.text();
  const noReply = (finding: CheckReply): CheckReply => ({ ...finding, ...(feedback !== '' && { feedback }) });
  if (end.by !== 'exit' || end.code !== 0) {
    const finding = findingOf(end, about);
    return noReply(finding.outcome === 'fail' ? { ...finding, outcome: 'error' } : finding);
  }
  const wrong = (what: string) => noReply({ outcome: 'error', reason: `Command ${name} ${what}` });
  if (bytes > replyBytesMax) return wrong(`printed more than ${replyBytesMax} bytes`);
  const value = parseJson(Buffer.concat(chunks).toString('utf8'));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return wrong('did not print one JSON object');
  if (!isShallow(value, jsonDepthMax)) return wrong(`printed JSON that nests deeper than ${jsonDepthMax}`);
  const reply = readCheckReply(value);
  if (reply === null) return wrong('printed JSON that is no reply of a check');
  const usage = 'usage' in value ? usageSchema.safeParse(value.usage).data : undefined;
  return usage === undefined ? reply : { ...reply, usage };
}

const usageSchema = entrySchemas.worker['usage.reported'];

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Returns null where the changes are not known, because the folder is in no repository. */
async function readDiff(
  cwd: string | null,
  place: CommandPlace,
  stop: Interruption,
): Promise<string | null | { readonly reason: string }> {
  const changes = await Promise.race([readChanges(cwd, place, stop), stop.happened]);
  if (typeof changes === 'string' || 'interrupted' in changes) return null; // the caller looks at the cause
  return 'reason' in changes ? changes : changes.text;
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
function findingOf(end: GroupEnd, about: About): CheckReply {
  const error = (reason: string): CheckReply => ({ outcome: 'error', reason });
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

export const unknownCommand = (name: string): CheckReply => ({
  outcome: 'error',
  reason: `the runner has no command ${quote(name)}: commands are named under commands: in its configuration`,
});

// Collects the output of a command while it runs: never more than is needed, however much it prints.

/** `tail`: the last 2,000 characters of both streams as they came; `json`: stdout's value; `none`: nothing. */
type FeedbackMode = CommandConfig['feedback'];
type Stream = 'stdout' | 'stderr';
type Output = {
  add(stream: Stream, chunk: Buffer): void;
  /** Returns the feedback. Call it once, at the end. Undefined: there is none. */
  feedback(): unknown;
};

const tailCharactersMax = 2_000; // code points
const rawCharactersMax = 32_768; // UTF-16 units, escape codes among them: colours may take most of a line
const jsonBytesMax = 32_768;
const jsonDepthMax = 64; // later code recurses into the value

export function collectOutput(mode: FeedbackMode): Output {
  if (mode === 'none') return { add: () => {}, feedback: () => undefined };
  const tail = collectTail();
  if (mode === 'tail') return { add: tail.add, feedback: () => tail.text() || undefined };
  const json = collectJson();
  return {
    add(stream, chunk) {
      tail.add(stream, chunk);
      if (stream === 'stdout') json.add(chunk);
    },
    feedback() {
      const found = json.read();
      if ('value' in found) return found.value;
      const text = tail.text();
      return text === '' ? `(${found.why})` : `(${found.why}; the end of the output:)\n${text}`;
    },
  };
}

function collectTail() {
  // One decoder a stream: a character may be split over two chunks, with a chunk of the other stream between.
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  let raw = '';
  return {
    add(stream: Stream, chunk: Buffer) {
      raw += decoders[stream].write(chunk);
      if (raw.length > 2 * rawCharactersMax) raw = raw.slice(-rawCharactersMax);
    },
    text() {
      const whole = (raw + decoders.stdout.end() + decoders.stderr.end()).replace(/^[\uDC00-\uDFFF]/, '');
      return [...stripControls(whole).trimEnd()].slice(-tailCharactersMax).join('');
    },
  };
}

// `esc` is a variable because the linter refuses control characters in a pattern.
const esc = '\u001B';
const bell = '\u0007';
const escapes = new RegExp(
  [
    `${esc}[\\]PX^_][^${esc}${bell}]*(?:${bell}|${esc}\\\\)`, // strings: titles, links, device control
    `(?:${esc}\\[|\u009B)[0-?]*[ -/]*[@-~]`, // control sequences: colours, cursor
    `${esc}[ -/]*[0-~]`, // all others (ECMA-48, 5.3 to 5.6)
  ].join('|'),
  'g',
);

/** Removes escape codes and control characters except \n and \t. A lone \r, as progress bars print, ends a line. */
const stripControls = (text: string) =>
  text
    .replace(escapes, '')
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\n\t])\p{Cc}/gu, '');

function collectJson() {
  let chunks: Buffer[] = [];
  let bytes = 0;
  return {
    add(chunk: Buffer) {
      bytes += chunk.length;
      if (bytes <= jsonBytesMax) chunks.push(chunk);
      else chunks = [];
    },
    read(): { value: unknown } | { why: string } {
      if (bytes === 0) return { why: 'stdout is empty, not JSON' };
      if (bytes > jsonBytesMax) return { why: `stdout is over ${jsonBytesMax} bytes, too large for JSON feedback` };
      try {
        const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
        if (!isShallow(value, jsonDepthMax)) return { why: `stdout nests deeper than ${jsonDepthMax}` };
        // Text that was short may be long when it is written again: 1e20 has 21 digits.
        if (Buffer.byteLength(JSON.stringify(value)) <= jsonBytesMax) return { value };
        return { why: `stdout is over ${jsonBytesMax} bytes, too large for JSON feedback` };
      } catch {
        return { why: 'stdout is not JSON' };
      }
    },
  };
}

function isShallow(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depthMax > 0 && Object.values(value).every((member) => isShallow(member, depthMax - 1));
}

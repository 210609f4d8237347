/** The `command` check: one program of the configuration, by name. Nothing that it runs comes over the wire. */

import { StringDecoder } from 'node:string_decoder';
import { formatDuration } from '../../machines/index.ts';
import type { Environment } from '../config/environment.ts';
import type { CommandConfig } from '../config/file.ts';
import type { Interruption } from '../timer.ts';
import { findFixedFolder, findWorkerFolder } from './folder.ts';
import type { KeptPasses } from './kept-passes.ts';
import { basicVariables, type Group, type GroupEnd, pickVariables, startGroup } from './process-group.ts';
import { cancelled, type Finding, quote, type RunIds, type RunRequest } from './request.ts';

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
  return place.passes.takeOrRun(
    { name: request.name, config, task: request.env.task ?? null, folder: folder.path, place, stop },
    run,
  );
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

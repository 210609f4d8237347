/** Runs git in an environment that names no programs and contains no secrets. */
import { delimiter, isAbsolute } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { Environment } from '../../config/environment.ts';
import type { Interruption, InterruptionCause } from '../../timer.ts';
import { pickVariables } from '../child-environment.ts';
import { isInside, type Workspace } from '../folder.ts';
import { type Group, type GroupEnd, startGroup } from '../process-group.ts';
import { quote } from '../reply.ts';

export type GitWorkspace = Workspace & {
  readonly env: Environment;
  onStart(group: Group): void;
};

/** `isCut`: the output was longer than `outputCharsMax`. */
type GitOutput = { readonly stdout: string; readonly isCut: boolean };
/** `exitCode` is null if git could not be run or was killed. */
export type GitFailure = { readonly reason: string; readonly exitCode: number | null };
export type GitNoAnswer = GitFailure | { readonly interrupted: InterruptionCause };
export type GitAnswer = GitOutput | GitNoAnswer;
export type RunOptions = {
  /** Additional variables such as GIT_DIR. */
  readonly env?: Env;
  /** Text for stdin. */
  readonly input?: string;
  /** For NUL-terminated output: only matching parts are kept. */
  readonly only?: { test(part: string): boolean };
};
export type RunGit = (args: readonly string[], options?: RunOptions) => Promise<GitAnswer>;
type Env = Readonly<Record<string, string>>;

/** Enough for the names of a hundred thousand changed files. */
const outputCharsMax = 16 * 1024 * 1024;
const stderrCharsMax = 1_000;

/** Git needs these to find the user's settings, some of which are used (sealed-repository.ts). */
const keptVariables = ['HOME', 'XDG_CONFIG_HOME', 'TMPDIR'] as const;

const fixed: Env = {
  LC_ALL: 'C',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_NO_LAZY_FETCH: '1',
  // Disables all transports: nothing is fetched, so neither ssh nor upload-pack is run.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_PAGER: 'cat',
  // Ignore replacements of objects and parents.
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_GRAFT_FILE: '/dev/null',
};

/** Runs git in `workTree`, but never a program named `git` from inside it or the roots. */
export function createRunGit(workspace: GitWorkspace, workTree: string, stop: Interruption): RunGit {
  const base = environmentOf(workspace, workTree);
  return async (args, { env, input, only } = {}) => {
    if (stop.cause !== null) return { interrupted: stop.cause };
    const output = createOutput(only);
    let stderr = '';
    const group = startGroup(
      {
        run: ['git', ...args],
        cwd: workTree,
        env: { ...base, ...env },
        ...(input === undefined ? {} : { input }),
        onOutput(stream, chunk) {
          if (stream === 'stdout') output.add(chunk);
          else stderr = (stderr + chunk.toString('utf8')).slice(0, stderrCharsMax);
        },
      },
      stop,
    );
    workspace.onStart(group);
    const end = await group.ended;
    if (end.by === 'timeout' || end.by === 'cancelled') return { interrupted: end.by };
    if (end.by === 'exit' && end.code === 0) return output.end();
    return { reason: failureText(end, stderr), exitCode: end.by === 'exit' ? end.code : null };
  };
}

function createOutput(only: RunOptions['only']) {
  const decoder = new StringDecoder('utf8');
  const kept: string[] = [];
  let size = 0;
  let rest = '';
  const keep = (text: string) => {
    if (size <= outputCharsMax) kept.push(text);
    size += text.length;
  };
  return {
    add(chunk: Buffer): void {
      const text = decoder.write(chunk);
      const parts = only === undefined ? [] : (rest + text).split('\0');
      if (only === undefined) keep(text);
      rest = parts.pop() ?? '';
      for (const part of parts) if (only?.test(part)) keep(`${part}\0`);
    },
    end: (): GitOutput => ({ stdout: kept.join(''), isCut: size > outputCharsMax }),
  };
}

/** Removes PATH folders inside the workspace, where an agent may put its own `git`: `npx` adds `node_modules/.bin`. */
function environmentOf({ env, roots }: GitWorkspace, workTree: string): Env {
  const folders = (env.PATH ?? '/usr/local/bin:/usr/bin:/bin').split(delimiter);
  const isForeign = (folder: string) => ![workTree, ...roots].some((root) => isInside(root, folder));
  const path = folders.filter((folder) => isAbsolute(folder) && isForeign(folder)).join(delimiter);
  return { ...pickVariables(env, keptVariables), PATH: path, ...fixed };
}

function failureText(end: GroupEnd, stderr: string): string {
  if (end.by === 'refused') return `cannot run git: ${end.code === 'ENOENT' ? 'not found' : end.code}`;
  const message = stderr.trim().split('\n')[0] ?? '';
  const how = end.by === 'exit' ? `exit ${end.code}` : `killed by ${end.by === 'signal' ? end.signal : end.by}`;
  return message === '' ? `git failed (${how})` : `git: ${quote(message)}`;
}

/** Finds our hooks in an agent's settings. */
import { execFile } from 'node:child_process';
import type { FoundHook, HookFormat } from '../setup/hook-settings.ts';
import { positionOf, readJson, SyntaxProblem } from '../setup/json-edit.ts';
import { readText } from '../setup/settings-file.ts';
import { type Answer, bad, type CheckContext, ok, skip, warn } from './doctor.ts';

/** A file that contains our hooks. */
export type HookedFile = {
  /** `user`, `project`, or an agent's own scope. */
  readonly scope: string;
  readonly file: string;
  readonly text: string;
  /** Contains only our own hooks. */
  readonly hooks: readonly FoundHook[];
};

export type SettingsContent = {
  /** Null if the file does not contain our hooks. */
  readonly hooked: HookedFile | null;
  /** All hooks of the file. */
  readonly hooks: readonly FoundHook[];
  /** The parsed file. Undefined if it does not exist or cannot be read. */
  readonly value: unknown;
  readonly problems: readonly Answer[];
};

/** The command that rewrites these settings. Callers may append options. */
export const initCommand = (agent: string, { scope }: Pick<HookedFile, 'scope'>): string =>
  `stopgate init ${agent}${scope === 'user' ? ' --user' : ''}`;

const nothing: SettingsContent = { hooked: null, hooks: [], value: undefined, problems: [] };

export function readSettingsFile(
  { scope, file }: Pick<HookedFile, 'scope' | 'file'>,
  { load = readText, read }: HookFormat,
  isOurs: (handler: FoundHook['value']) => boolean,
): SettingsContent {
  let text: string | null;
  try {
    text = load(file);
  } catch (error) {
    const problem = `${file} cannot be read: ${(error as Error).message}`;
    return { ...nothing, problems: [bad(problem, 'make it readable: none of its settings take effect')] };
  }
  if (text === null) return nothing;
  try {
    const all = read(text);
    const hooks = all.filter(({ value }) => isOurs(value));
    const hooked = hooks.length === 0 ? null : { scope, file, text, hooks };
    return { hooked, hooks: all, value: file.endsWith('.json') ? readJson(text) : undefined, problems: [] };
  } catch (error) {
    return {
      ...nothing,
      problems: [bad(describeSyntax(file, text, error), 'fix it: the agent may ignore the whole file')],
    };
  }
}

/** Returns `<file>:<line>:<column>: <problem>`. Rethrows any error other than a SyntaxProblem. */
export function describeSyntax(file: string, text: string, error: unknown): string {
  if (!(error instanceof SyntaxProblem)) throw error;
  const { line, column } = positionOf(text, error.offset);
  return `${file}:${line}:${column}: ${error.message}`;
}

const versionTimeoutMs = 30_000;

/** Checks that an agent's program is installed, in the version that we tested. */
export async function checkProgram({
  agent: { name, title, program },
  binary,
  runsDryTurn,
}: Pick<CheckContext, 'agent' | 'binary' | 'runsDryTurn'>): Promise<Answer> {
  if (binary === null) return skip(`${title} is not on PATH`);
  const version = await readVersion(binary);
  if (version === null) return warn(`${binary} --version prints no version`, 'check whether it starts at all');
  if (version === program.testedVersion) return ok(`${title} ${version}`);
  const tested =
    program.testedVersion === null
      ? 'stopgate was never tested with it'
      : `stopgate was tested with ${program.testedVersion}`;
  const where = runsDryTurn ? 'the dry turn below' : `a dry turn ("stopgate doctor ${name}")`;
  return warn(`${title} ${version}: ${tested}`, `${where} shows whether it works`);
}

/** Returns null if the program fails or prints no version. */
function readVersion(binary: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(binary, ['--version'], { timeout: versionTimeoutMs }, (error, stdout) => {
      resolve(error === null ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null);
    });
  });
}

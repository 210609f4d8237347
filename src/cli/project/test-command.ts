/** Finds the command that runs a project's tests, from the files that say what kind of project it is. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readPlainFile } from '../../plain-file.ts';
import { tryJson } from '../../text/json-text.ts';

export type TestCommand = {
  readonly run: readonly string[];
  /** The file from which the command follows. */
  readonly from: string;
};

type Project = { readonly has: (name: string) => boolean; readonly read: (name: string) => string };

/** In order of precedence: the project's own `test` comes before a tool's usual command. */
const finders: readonly ((project: Project) => TestCommand | null)[] = [
  findScript,
  ({ read }) => (/^test[ \t]*:(?!=)/m.test(read('Makefile')) ? { run: ['make', 'test'], from: 'Makefile' } : null),
  findPytest,
  ({ has }) => (has('go.mod') ? { run: ['go', 'test', './...'], from: 'go.mod' } : null),
  ({ has }) => (has('Cargo.toml') ? { run: ['cargo', 'test'], from: 'Cargo.toml' } : null),
];

/** @returns null if no file implies a test command */
export function findTestCommand(folder: string): TestCommand | null {
  const has = (name: string) => existsSync(join(folder, name));
  const read = (name: string) => {
    try {
      return readPlainFile(join(folder, name));
    } catch {
      return ''; // missing, or not readable as a file
    }
  };
  for (const find of finders) {
    const found = find({ has, read });
    if (found !== null) return found;
  }
  return null;
}

/** The script that `npm init` writes, which always fails. */
const noTests = /no test specified/;

const packageManagers: Readonly<Record<string, string>> = {
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
};

function findScript({ has, read }: Project): TestCommand | null {
  const about = tryJson(read('package.json')) as { scripts?: { test?: unknown } } | null;
  const script = about?.scripts?.test;
  if (typeof script !== 'string' || script.trim() === '' || noTests.test(script)) return null;
  const lock = Object.keys(packageManagers).find(has);
  const manager = (lock === undefined ? undefined : packageManagers[lock]) ?? 'npm';
  // `bun test` is Bun's own test runner, whatever the script says.
  return { run: manager === 'bun' ? ['bun', 'run', 'test'] : [manager, 'test'], from: 'package.json' };
}

const runners: Readonly<Record<string, string>> = { 'uv.lock': 'uv', 'poetry.lock': 'poetry', 'pdm.lock': 'pdm' };

function findPytest({ has, read }: Project): TestCommand | null {
  const named = [
    'pytest.ini',
    'tox.ini',
    'setup.cfg',
    'pyproject.toml',
    'requirements.txt',
    'requirements-dev.txt',
  ].find((name) => (name === 'pytest.ini' ? has(name) : /\bpytest\b/.test(read(name))));
  if (named === undefined) return null;
  const lock = Object.keys(runners).find(has);
  const runner = lock === undefined ? undefined : runners[lock];
  return { run: runner === undefined ? ['pytest'] : [runner, 'run', 'pytest'], from: named };
}

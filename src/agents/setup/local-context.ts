/** Finds an agent's settings and program. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

export type Scope = 'project' | 'user';

export type LocalContext = {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** An agent's program. */
export type Program = {
  /** Its name on PATH. */
  readonly binary: string;
  /** The version that we tested. Null if the integration is based on documentation only. */
  readonly testedVersion: string | null;
  /** The folder of the user's settings. */
  readonly folder: (places: LocalContext) => string;
};

/**
 * The path of a settings file: `project` is relative to the project's folder, `user` to the folder of user settings.
 */
export const fileIn =
  (project: readonly string[], folder: Program['folder'], user: readonly string[]) =>
  (scope: Scope, places: LocalContext): string =>
    scope === 'project' ? join(places.cwd, ...project) : join(folder(places), ...user);

/**
 * The folder that must contain a settings file. A variable may place the user's settings outside of the home folder.
 */
export function rootOf(file: string, scope: Scope, { cwd, home }: LocalContext): string {
  if (scope === 'project') return cwd;
  return file.startsWith(`${home}/`) ? home : dirname(file);
}

/** Whether an agent is installed on this machine. */
export type Installed = {
  readonly name: string;
  readonly title: string;
  /** The program's path. Null if it is not on PATH. */
  readonly binary: string | null;
  /** True if the folder of the user's settings exists. */
  readonly hasFolder: boolean;
};

type NamedProgram = Pick<Installed, 'name' | 'title'> & { readonly program: Program };

export function findInstalled({ name, title, program }: NamedProgram, places: LocalContext): Installed {
  return {
    name,
    title,
    binary: findProgram(program.binary, places.env),
    hasFolder: isFolder(program.folder(places)),
  };
}

/** The program of each command, by the command's name, that is not on PATH. One with a path depends on the worker's folder. */
export const missingPrograms = (
  commands: Readonly<Record<string, { readonly run: readonly string[] }>>,
  env: LocalContext['env'],
): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(commands)
      .map(([name, { run }]) => [name, run[0] ?? ''] as const)
      .filter(([, program]) => !program.includes('/') && findProgram(program, env) === null),
  );

export function findProgram(name: string, env: LocalContext['env']): string | null {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (folder !== '' && statSync(file).isFile()) return file;
    } catch {
      // not in this folder
    }
  }
  return null;
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Finds an agent's settings and program. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

export type Scope = 'project' | 'user';

export type Places = {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** An agent's program. */
export type Program = {
  /** As on PATH. */
  readonly binary: string;
  /** The version with which our knowledge was tested. Null: it comes from the documentation. */
  readonly seen: string | null;
  /** The folder of the user's own settings. */
  readonly folder: (places: Places) => string;
};

/** A settings file: `project` is its path in the project's folder, `user` its path in the user's own settings. */
export const fileIn =
  (project: readonly string[], folder: Program['folder'], user: readonly string[]) =>
  (scope: Scope, places: Places): string =>
    scope === 'project' ? join(places.cwd, ...project) : join(folder(places), ...user);

/** The folder that a settings file must lie in. A variable may move the user's own settings out of the home folder. */
export function rootOf(file: string, scope: Scope, { cwd, home }: Places): string {
  if (scope === 'project') return cwd;
  return file.startsWith(`${home}/`) ? home : dirname(file);
}

/** Finds programs, and what of an agent is on this machine. */
export type Installed = {
  readonly name: string;
  readonly title: string;
  /** The program's path. Null: not on PATH. */
  readonly binary: string | null;
  /** Does the folder of the user's settings exist? */
  readonly hasFolder: boolean;
};

type Agent = Pick<Installed, 'name' | 'title'> & { readonly program: Program };

export function findInstalled({ name, title, program }: Agent, places: Places): Installed {
  return {
    name,
    title,
    binary: findProgram(program.binary, places.env),
    hasFolder: isFolder(program.folder(places)),
  };
}

export function findProgram(name: string, env: Places['env']): string | null {
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

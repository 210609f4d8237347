/** Where an agent's settings and program are looked for. */
import { dirname, join } from 'node:path';

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

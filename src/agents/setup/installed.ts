/** Finds programs, and which agents are on this machine. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Places, Program } from './places.ts';

export type Installed = {
  readonly name: string;
  readonly title: string;
  /** The program's path. Null: not on PATH. */
  readonly binary: string | null;
  /** Does the folder of the user's settings exist? */
  readonly hasFolder: boolean;
};

type Agent = { readonly name: string; readonly title: string; readonly program: Program | null };

export function findInstalled(agents: Iterable<Agent>, places: Places): Installed[] {
  return [...agents].flatMap(({ name, title, program }) => {
    if (program === null) return [];
    const binary = findProgram(program.binary, places.env);
    return [{ name, title, binary, hasFolder: isFolder(program.folder(places)) }];
  });
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

/** Finds programs, and what of an agent is on this machine. */
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

type Agent = Pick<Installed, 'name' | 'title'> & { readonly program: Program };

export function findInstalled({ name, title, program }: Agent, places: Places): Installed {
  return {
    ...{ name, title, binary: findProgram(program.binary, places.env) },
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

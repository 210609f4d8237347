/** Which agents are on this machine. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { type Places, type SetupAgent, setupAgents } from './agents.ts';

export type Installed = {
  readonly name: string;
  readonly title: string;
  /** The program; null: not on PATH. */
  readonly binary: string | null;
  /** Its folder of settings is there. */
  readonly hasFolder: boolean;
};

export function findInstalled(places: Places): Installed[] {
  const rows: [string, Pick<SetupAgent, 'title' | 'binary'>, string][] = [
    ...Object.entries(setupAgents).map(([name, agent]): [string, SetupAgent, string] => [
      name,
      agent,
      dirname(agent.file('user', places)),
    ]),
    ['opencode', { title: 'OpenCode', binary: 'opencode' }, join(places.home, '.config', 'opencode')],
  ];
  return rows.map(([name, { title, binary }, folder]) => ({
    ...{ name, title, binary: findProgram(binary, places.env) },
    hasFolder: isFolder(name === 'copilot' ? dirname(folder) : folder),
  }));
}

export function findProgram(name: string, env: Places['env']): string | null {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (folder !== '' && statSync(file).isFile()) return file;
    } catch {
      // not in this one
    }
  }
  return null;
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

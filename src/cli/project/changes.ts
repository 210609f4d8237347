/**
 * Records what `stopgate up` has changed, so that `stopgate down` can restore every file. The record is in the user's
 * state folder (XDG_STATE_HOME), not in the project: otherwise a checkout could contain a record that makes `down`
 * write any file.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { agents } from '../../agents/index.ts';
import { hookProgram, type Line } from '../../agents/setup/line.ts';
import type { LocalContext } from '../../agents/setup/local-context.ts';
import { type Change, openSettings, readText, writeSettings } from '../../agents/setup/settings-file.ts';
import { type Environment, homeFolder } from '../../config/environment.ts';
import { AppError } from '../../errors.ts';
import { tryJson } from '../../text/json-text.ts';
import { projectName, supervisorKinds } from './service.ts';

const fileSchema = z.object({
  path: z.string(),
  /** The folder that must contain the file. */
  root: z.string(),
  /** The agent whose settings the file contains, or null if the file is only ours. */
  agent: z.string().nullable(),
  /** The texts before and after the change; null if the file did not or does not exist. */
  before: z.string().nullable(),
  after: z.string().nullable(),
  /** The nearest folder above the file that existed before. */
  folder: z.string(),
});
export type ChangedFile = z.output<typeof fileSchema>;

const recordSchema = z.object({
  v: z.literal(1),
  folder: z.string(),
  /** The service's address. */
  url: z.url(),
  /** Null if a service was running already, which `down` then leaves alone. */
  service: z.object({ kind: z.enum(supervisorKinds), pid: z.int().positive().nullable() }).nullable(),
  /** Whether `.stopgate` did not exist before. */
  madeStore: z.boolean(),
  /** The nearest folder above the record that existed before. */
  stateParent: z.string(),
  files: z.array(fileSchema),
});
export type UpRecord = z.output<typeof recordSchema>;

export const stateFolderOf = (folder: string, env: Environment): string =>
  join(env.XDG_STATE_HOME || join(homeFolder(env), '.local/state'), 'stopgate', projectName(folder));

/** @returns null if `up` was not run in this folder. @throws AppError input.bad if the record cannot be understood */
export function readRecord(folder: string, env: Environment): UpRecord | null {
  const path = join(stateFolderOf(folder, env), 'up.json');
  if (!existsSync(path)) return null;
  const read = recordSchema.safeParse(tryJson(readFileSync(path, 'utf8')));
  if (read.success && read.data.folder === folder) return read.data;
  throw new AppError(
    'input.bad',
    `'${path}' is not a record of "stopgate up" that this version understands; nothing was changed`,
  );
}

/** Called before each change, so that it can be undone even if this process is killed. */
export function writeRecord(record: UpRecord, env: Environment): void {
  const stateFolder = stateFolderOf(record.folder, env);
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  writeFileSync(join(stateFolder, 'up.json'), `${JSON.stringify(record)}\n`, { mode: 0o600 });
}

/** Keeps the folders of other projects, and folders that existed before. */
export function removeRecord({ folder, stateParent }: UpRecord, env: Environment): void {
  const stateFolder = stateFolderOf(folder, env);
  rmSync(stateFolder, { recursive: true, force: true });
  for (let empty = dirname(stateFolder); empty.startsWith(`${stateParent}/`); empty = dirname(empty)) {
    try {
      rmdirSync(empty);
    } catch {
      return; // not empty
    }
  }
}

/** Returns the nearest folder that exists: this one, or one above. */
export const nearestFolder = (folder: string): string => (existsSync(folder) ? folder : nearestFolder(dirname(folder)));

export const toChangedFile = ({ file, after }: Change, agent: string | null): ChangedFile => ({
  path: file.path,
  root: file.root,
  agent,
  before: file.text,
  after,
  folder: nearestFolder(dirname(file.path)),
});

export type Undone = {
  readonly restored: string[];
  readonly removed: string[];
  readonly kept: { readonly path: string; readonly why: string }[];
};

/** Restores the files, last one first. Keeps and reports those that somebody has changed since. */
export async function undoFiles(files: readonly ChangedFile[], places: LocalContext): Promise<Undone> {
  const undone: Undone = { restored: [], removed: [], kept: [] };
  const edited = new Set<string>();
  const paths = [...new Set(files.map(({ path }) => path))];
  for (const path of paths.toReversed()) {
    // A second `up` may have changed a file again. Restore what it was before the first.
    const changes = files.filter((changed) => changed.path === path);
    const [first] = changes as [ChangedFile];
    const { agent, before } = first;
    const now = readText(path);
    if (now === before) continue;
    if (changes.some(({ after }) => after === now)) {
      restore(first);
      undone[before === null ? 'removed' : 'restored'].push(path);
    } else if (agent === null) undone.kept.push({ path, why: 'it was changed since' });
    else edited.add(agent);
  }
  for (const name of edited) {
    const ours = new Set(files.filter(({ agent }) => agent === name).map(({ path }) => path));
    for (const change of await planRemoval(name, places)) {
      if (!ours.has(change.file.path) || change.after === change.file.text) continue;
      writeSettings(change.file, change.after);
      undone.kept.push({
        path: change.file.path,
        why: 'it was changed since; only the hooks of stopgate were removed',
      });
    }
  }
  return undone;
}

function restore({ path, root, before, folder }: ChangedFile): void {
  writeSettings(openSettings(path, root), before);
  // Removing the last file of a folder removes the folder too, even one that was empty before.
  mkdirSync(folder, { recursive: true });
}

/** Plans the removal of an agent's hooks from all settings that `init` can change. */
export async function planRemoval(name: string, places: LocalContext): Promise<Change[]> {
  const setup = (await agents.get(name)?.settings())?.setup;
  if (setup?.kind !== 'settings') return [];
  const line: Line = {
    form: setup.forms[0] ?? 'command',
    http: '',
    policy: undefined,
    fleet: undefined,
    tokenEnv: undefined,
    onUnreachable: 'allow',
    autostart: undefined,
    wake: false,
    program: hookProgram(),
  };
  const rest = { places, line, blockCap: undefined, planTools: false, usage: false, remove: true };
  return setup.scopes.flatMap((scope) => [...setup.plan({ scope, ...rest })]);
}

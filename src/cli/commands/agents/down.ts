/** down: undoes everything that `up` did in this folder. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { askHttp } from '../../../agents/doctor/session.ts';
import { loadConfig } from '../../../config/config.ts';
import { type Environment, homeFolder } from '../../../config/environment.ts';
import type { ServiceFile } from '../../../config/store.ts';
import { type Context, defineCommand, type Flags, flag } from '../../command.ts';
import {
  readRecord,
  removeRecord,
  stateFolderOf,
  type Undone,
  type UpRecord,
  undoFiles,
} from '../../project/changes.ts';
import { createSupervisor, findRunning, removeLogs, storeOf } from '../../project/service.ts';

const args = { json: flag('print JSON') } as const;
type DownContext = Context<Flags<typeof args>>;

export const down = defineCommand({
  args,
  details: [
    'Restores every file that "stopgate up" changed in this folder, byte for byte, removes the files that it created, and stops the service that it started. Files that somebody has changed since are kept and listed. So is the log in .stopgate, if an agent has reported anything.',
    'Exit code 0 also if there was nothing to undo.',
  ],
  examples: ['stopgate down', 'stopgate down --json'],
  run: async (context) => {
    const { io, note } = context;
    const { cwd: folder, env } = io;
    const record = readRecord(folder, env);
    const running = await findRunning(folder);
    if (record === null) {
      const also =
        running === null ? '' : `; the service that runs here (process ${running.pid}) was started in another way`;
      if (context.flags.json)
        await context.out.json({ down: false, stopped: null, restored: [], removed: [], kept: [] });
      else
        note(`"stopgate up" was not run in ${folder}, so there is nothing to undo${also}${describeAbove(folder, env)}`);
      return 0;
    }
    // The first Ctrl-C must not leave it half undone. After a second one, the record still exists.
    io.interrupt();
    return undo(record, running, context);
  },
});

async function undo(record: UpRecord, running: ServiceFile | null, context: DownContext): Promise<number> {
  const { flags, io, out } = context;
  const { cwd: folder, env } = io;
  const places = { cwd: folder, home: homeFolder(env), env };
  const isUnused = running !== null && record.madeStore && (await isUntouched(running, context));
  // Hooks go first, so that no agent calls a service that is gone. The supervisor's file goes last: stopping needs it.
  const hooks = await undoFiles(
    record.files.filter(({ agent }) => agent !== null),
    places,
  );
  if (record.service !== null) {
    const stateFolder = stateFolderOf(folder, env);
    const http = new URL(record.url).host;
    const supervisor = createSupervisor(record.service.kind, { folder, stateFolder, env, http, variables: [] });
    await supervisor.stop(record.service.pid);
  }
  const others = await undoFiles(
    record.files.filter(({ agent }) => agent === null),
    places,
  );
  const left = await findRunning(folder);
  if (left === null) removeLogs(folder);
  const store = record.madeStore && left === null ? removeStore(folder, isUnused) : null;
  removeRecord(record, env);
  const undone: Undone = {
    restored: [...hooks.restored, ...others.restored],
    removed: [...hooks.removed, ...others.removed, ...(store === 'removed' ? [storeOf(folder)] : [])],
    kept: [
      ...hooks.kept,
      ...others.kept,
      ...(store === 'kept'
        ? [{ path: storeOf(folder), why: 'it has the log; remove the folder if you do not need it' }]
        : []),
    ],
  };
  const stopped = record.service !== null && running !== null && left === null ? running.pid : null;
  if (flags.json) {
    await out.json({ down: true, stopped, ...undone });
    return 0;
  }
  const { green, yellow } = out.colors;
  const lines = [
    ...(stopped === null ? [] : [`${green('✓')} stopped the service (process ${stopped})`]),
    ...undone.restored.map((path) => `${green('✓')} restored ${path}`),
    ...undone.removed.map((path) => `${green('✓')} removed ${path}`),
    ...undone.kept.map(({ path, why }) => `${yellow('!')} kept ${path}: ${why}`),
    ...(left === null
      ? []
      : [`${yellow('!')} a service still runs here (process ${left.pid}), which "stopgate up" did not start`]),
  ];
  await out.print(...lines, 'Everything that "stopgate up" did is undone.');
  return 0;
}

/** Names the folder above in which `up` was run, for somebody who is in a wrong one. */
function describeAbove(folder: string, env: Environment): string {
  for (let above = dirname(folder); above !== dirname(above); above = dirname(above))
    if (existsSync(join(stateFolderOf(above, env), 'up.json'))) return `; it was run in ${above}`;
  return '';
}

/** Keeps a store with entries that somebody reported. @returns null if there is no store */
function removeStore(folder: string, isUnused: boolean): 'removed' | 'kept' | null {
  const store = storeOf(folder);
  if (!existsSync(store)) return null;
  // After a start that failed before the log was created.
  const isEmpty = readdirSync(store).every((name) => name === '.gitignore');
  if (!isUnused && !isEmpty) return 'kept';
  rmSync(store, { recursive: true, force: true });
  return 'removed';
}

const entriesSchema = z.object({
  entries: z.array(z.object({ by: z.string() })),
  before: z.number().nullable(),
});

/** Whether the service itself wrote every entry of the log. False if the service does not answer. */
async function isUntouched({ http, fleet }: ServiceFile, { io }: DownContext): Promise<boolean> {
  if (http === null) return false;
  const { token } = await loadConfig({ cwd: io.cwd, env: io.env, serving: true }).catch(() => ({ token: null }));
  const reply = await askHttp(`${http}/api/${fleet}/entries?limit=100`, token);
  const { data } = entriesSchema.safeParse(typeof reply === 'string' ? null : reply.body);
  return data !== undefined && data.before === null && data.entries.every(({ by }) => by === 'service');
}

/** Hooks as one script per event in a folder, for agents that find hooks by file name. */
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import type { FoundHook, HookFormat, HookSettings } from './hook-settings.ts';
import { type LocalContext, rootOf, type Scope } from './local-context.ts';
import { type Change, openSettings, readText } from './settings-file.ts';

/** Scripts by the name of their event. The doctor reads them as JSON text, and a dry turn gets them as JSON text. */
export type Scripts = Readonly<Record<string, string>>;

const head = (agent: string): string =>
  `#!/bin/sh\n# Written by "stopgate init ${agent}"; to remove it, run "stopgate init ${agent} --remove".\n`;

export const scriptHooks = (agent: string, extension: string, events: readonly string[]): HookFormat => ({
  put: (_text, settings) => JSON.stringify(scriptsOf(agent, settings)),
  remove: () => null,
  read: (text) =>
    Object.entries(JSON.parse(text) as Scripts).map(
      ([event, script]): FoundHook => ({
        event,
        value: { type: 'command', command: script.split('\n').slice(2).join('\n').trim() },
      }),
    ),
  load(folder) {
    const found = events.flatMap((event) => {
      const script = readText(join(folder, `${event}${extension}`));
      return script === null ? [] : [[event, script] as const];
    });
    return found.length === 0 ? null : JSON.stringify(Object.fromEntries(found));
  },
});

function scriptsOf(agent: string, { events }: HookSettings): Scripts {
  const commands = events.map(([event, handler]) => [event, (handler as { command: string }).command] as const);
  return Object.fromEntries(commands.map(([event, command]) => [event, `${head(agent)}${command}\n`]));
}

type Target = { readonly folder: string; readonly scope: Scope; readonly places: LocalContext };

/** @throws AppError input.bad if a script of that name is not ours */
export function planScripts(
  agent: string,
  extension: string,
  settings: HookSettings,
  { folder, scope, places }: Target,
  isRemoved: boolean,
): [Change, ...Change[]] {
  const changes = Object.entries(scriptsOf(agent, settings)).map(([event, script]): Change => {
    const path = join(folder, `${event}${extension}`);
    const file = openSettings(path, rootOf(path, scope, places));
    if (file.text !== null && !file.text.startsWith(head(agent)))
      throw new AppError('input.bad', `'${path}' was not written by stopgate; move it away first`);
    return { file, after: isRemoved ? null : script };
  });
  return changes as [Change, ...Change[]];
}

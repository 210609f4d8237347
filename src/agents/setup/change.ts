/** What `init` would do to an agent's settings: planned without touching anything, then done in one step. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import { builtScript } from '../../version.ts';
import {
  type Line,
  type Places,
  type Scope,
  type SetupAgent,
  type SetupName,
  settingsFor,
  setupAgents,
} from './agents.ts';
import { putCap, takeCap } from './block-cap.ts';
import { putHooks, takeHooks, withBom } from './hook-settings.ts';
import { positionOf, SyntaxProblem } from './json-edit.ts';
import { openSettings, type SettingsFile } from './settings-file.ts';

/** `after` null: the file goes, or stays away. */
export type Change = { readonly file: SettingsFile; readonly after: string | null };

export type Wish = {
  readonly scope: Scope;
  readonly places: Places;
  readonly line: Line;
  /** Claude Code's own, to be raised; undefined: as it is. */
  readonly blockCap: number | undefined;
  readonly remove: boolean;
};

/** @throws AppError input.bad: with file, line and column where it cannot be read */
export function planChange(name: SetupName | 'opencode', wish: Wish): Change {
  return name === 'opencode' ? planPlugin(wish) : planSettings(name, wish);
}

function planSettings(name: SetupName, { scope, places, line, blockCap, remove }: Wish): Change {
  const agent: SetupAgent = setupAgents[name];
  const file = openSettings(agent.file(scope, places), rootOf(scope, places, agent));
  const settings = settingsFor(name, line);
  return withPlace(file, (text) => {
    if (!remove) {
      const hooked = putHooks(text, settings);
      return name === 'claude' ? withBom(hooked, (json) => putCap(json, blockCap)) : hooked;
    }
    const bare = text === null || name !== 'claude' ? text : withBom(text, takeCap);
    return bare === null ? null : takeHooks(bare, settings);
  });
}

/** The user's own folder of settings may lie elsewhere than in his home, by a variable. */
export function rootOf(scope: Scope, places: Places, agent: SetupAgent): string {
  if (scope === 'project') return places.cwd;
  const file = agent.file('user', places);
  return file.startsWith(`${places.home}/`) ? places.home : join(file, '..');
}

export function withPlace(file: SettingsFile, edit: (text: string | null) => string | null): Change {
  try {
    return { file, after: edit(file.text) };
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    const { line, column } = positionOf(file.text ?? '', error.offset);
    throw new AppError('input.bad', `${file.path}:${line}:${column}: ${error.message}; nothing was changed`);
  }
}

const pluginHead = '// Written by "stopgate init opencode"; "stopgate init opencode --remove" takes it away.\n';

export function pluginFile(scope: Scope, { cwd, home, env }: Places): string {
  const user = join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode');
  return join(scope === 'project' ? join(cwd, '.opencode') : user, 'plugin', 'stopgate.js');
}

function planPlugin({ scope, places, line, remove }: Wish): Change {
  const file = openSettings(pluginFile(scope, places), scope === 'project' ? places.cwd : places.home);
  if (file.text !== null && !file.text.startsWith(pluginHead))
    throw new AppError('input.bad', `'${file.path}' is not ours; move it away first`);
  return { file, after: remove ? null : pluginText(line) };
}

/** The adapter's own plugin, with the address filled in. */
function pluginText({ http, policy, tokenEnv }: Line): string {
  const source = builtScript('agents/opencode/plugin.js');
  let text: string;
  try {
    text = readFileSync(source, 'utf8').replace(/\n?\/\/# sourceMappingURL=.*\n?$/, '\n');
  } catch (cause) {
    throw new AppError('input.bad', 'this build of stopgate has no plugin for OpenCode', { cause });
  }
  const query = policy === undefined ? '' : `&policy=${policy}`;
  return `${pluginHead}${text}`
    .replace("'http://127.0.0.1:4280'", () => JSON.stringify(http))
    .replace("tokenVariable = 'STOPGATE_TOKEN'", `tokenVariable = ${JSON.stringify(tokenEnv ?? 'STOPGATE_TOKEN')}`)
    .replace('?event=$' + '{event}', (found) => `${found}${query}`);
}

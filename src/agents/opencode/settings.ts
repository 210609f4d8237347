/** OpenCode has no hooks in its settings. `init` writes our plugin (plugin.ts), with the service's address in it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import { builtScript } from '../../version.ts';
import type { Change } from '../setup/change.ts';
import type { Line } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/places.ts';
import { openSettings } from '../setup/settings-file.ts';
import type { SettingsSetup, Wish } from '../setup/setup.ts';

const program: Program = {
  binary: 'opencode',
  seen: '1.18.33',
  folder: ({ home, env }) => join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode'),
};

export const pluginFile = fileIn(['.opencode', 'plugin', 'stopgate.js'], program.folder, ['plugin', 'stopgate.js']);

export const setup: SettingsSetup = {
  kind: 'settings',
  program,
  forms: ['http'],
  scopes: ['project', 'user'],
  // The plugin does so by itself.
  wakes: false,
  blockCap: null,
  planTools: null,
  plan: planPlugin,
  trust: null,
};

const head = '// Written by "stopgate init opencode"; "stopgate init opencode --remove" takes it away.\n';

function planPlugin({ scope, places, line, remove }: Wish): Change {
  const file = openSettings(pluginFile(scope, places), scope === 'project' ? places.cwd : places.home);
  if (file.text !== null && !file.text.startsWith(head))
    throw new AppError('input.bad', `'${file.path}' is not ours; move it away first`);
  return { file, after: remove ? null : pluginText(line) };
}

/** The built plugin, with the address filled in. */
export function pluginText({
  http,
  policy,
  fleet,
  tokenEnv,
}: Pick<Line, 'http' | 'policy' | 'fleet' | 'tokenEnv'>): string {
  const source = builtScript('agents/opencode/plugin.js');
  let text: string;
  try {
    text = readFileSync(source, 'utf8').replace(/\n?\/\/# sourceMappingURL=.*\n?$/, '\n');
  } catch (cause) {
    throw new AppError('input.bad', 'this build of stopgate has no plugin for OpenCode', { cause });
  }
  const inFleet = fleet === undefined ? '' : `&fleet=${fleet}`;
  const query = `${policy === undefined ? '' : `&policy=${policy}`}${inFleet}`;
  return `${head}${text}`
    .replace("'http://127.0.0.1:4280'", () => JSON.stringify(http))
    .replace("tokenVariable = 'STOPGATE_TOKEN'", `tokenVariable = ${JSON.stringify(tokenEnv ?? 'STOPGATE_TOKEN')}`)
    .replace('?event=$' + '{event}', (found) => `${found}${query}`)
    .replace('?worker=$' + '{encodeURIComponent(id)}', (found) => `${found}${inFleet}`);
}

/** Describes OpenCode to `init` and `doctor`: its settings, its plugin, and how a dry turn of it is run. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import { builtScript } from '../../version.ts';
import type { CheckContext, Doctor } from '../doctor/doctor.ts';
import { type Answer, bad, type Checks, ok, runChecks, warn } from '../doctor/doctor.ts';
import { type DryTurn, tryTurn } from '../doctor/dry-turn.ts';
import { checkPolicyNames } from '../doctor/hook-doctor.ts';
import { checkProgram, initCommand } from '../doctor/hooked.ts';
import { checkUsage } from '../doctor/limit-checks.ts';
import { openChatCompletionsModel } from '../doctor/models.ts';
import { tokenVariableIn } from '../doctor/session.ts';
import { readOpencodeSwitches } from '../doctor/switches.ts';
import type { Line } from '../setup/line.ts';
import { fileIn, type Places, type Program, type Scope } from '../setup/places.ts';
import { type Change, openSettings, readText } from '../setup/settings-file.ts';
import type { SettingsSetup, Wish } from '../setup/setup.ts';

const program: Program = {
  binary: 'opencode',
  seen: '1.18.33',
  folder: ({ home, env }) => join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode'),
};

const pluginFile = fileIn(['.opencode', 'plugin', 'stopgate.js'], program.folder, ['plugin', 'stopgate.js']);

export const setup: SettingsSetup = {
  kind: 'settings',
  program,
  forms: ['http'],
  scopes: ['project', 'user'],
  // The plugin does so by itself.
  wakes: false,
  blockCap: null,
  planTools: null,
  usage: null,
  plan: (wish) => [planPlugin(wish)],
  trust: null,
};

const head = '// Written by "stopgate init opencode"; "stopgate init opencode --remove" takes it away.\n';

function planPlugin({ scope, places, line, remove }: Wish): Change {
  const file = openSettings(pluginFile(scope, places), scope === 'project' ? places.cwd : places.home);
  if (file.text !== null && !file.text.startsWith(head))
    throw new AppError('input.bad', `'${file.path}' is not ours; move it away first`);
  return { file, after: remove ? null : pluginText(line) };
}

/**
 * Returns the built plugin with the address filled in.
 * @throws AppError input.bad: the build has no plugin, or one without a place for what is filled in, which would ask
 * another service
 */
function pluginText({ http, policy, fleet, tokenEnv }: Pick<Line, 'http' | 'policy' | 'fleet' | 'tokenEnv'>): string {
  const source = builtScript('agents/opencode/plugin.js');
  let text: string;
  try {
    text = readFileSync(source, 'utf8').replace(/\n?\/\/# sourceMappingURL=.*\n?$/, '\n');
  } catch (cause) {
    throw new AppError('input.bad', 'this build of stopgate has no plugin for OpenCode', { cause });
  }
  const inFleet = fleet === undefined ? '' : `&fleet=${fleet}`;
  const query = `${policy === undefined ? '' : `&policy=${policy}`}${inFleet}`;
  const event = '?event=$' + '{event}';
  const worker = '?worker=$' + '{encodeURIComponent(id)}';
  const filled = [
    ["defaultUrl = 'http://127.0.0.1:4280'", `defaultUrl = ${JSON.stringify(http)}`],
    ["tokenVariable = 'STOPGATE_TOKEN'", `tokenVariable = ${JSON.stringify(tokenEnv ?? 'STOPGATE_TOKEN')}`],
    [event, `${event}${query}`],
    [worker, `${worker}${inFleet}`],
  ] as const;
  for (const [place, value] of filled) {
    if (!text.includes(place))
      throw new AppError('input.bad', `the plugin for OpenCode of this build lacks '${place}'`);
    text = text.replace(place, () => value);
  }
  return `${head}${text}`;
}

// Runs a turn of `opencode serve` with its own home folder: `opencode run` would end when idle. Seen with 1.18.33.

/** No registry, no list of models, no proxy: what it fetches at its start fails at once. */
const nowhere = 'http://127.0.0.1:9';
const offline = {
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  npm_config_registry: nowhere,
  npm_config_fetch_retries: '0',
  BUN_CONFIG_REGISTRY: nowhere,
  HTTP_PROXY: nowhere,
  HTTPS_PROXY: nowhere,
  NO_PROXY: '127.0.0.1,localhost',
};

const configFor = (model: string) => ({
  model: 'fake/fake',
  small_model: 'fake/fake',
  autoupdate: false,
  share: 'disabled',
  provider: {
    fake: {
      npm: '@ai-sdk/openai-compatible',
      name: 'fake',
      options: { baseURL: `${model}/v1`, apiKey: 'none' },
      models: { fake: { name: 'fake', tool_call: true, limit: { context: 100_000, output: 8_000 } } },
    },
  },
});

const dryTurn: DryTurn = {
  openModel: openChatCompletionsModel,
  async prepare({ project, settings: plugin, model, write }) {
    write(join(project, '.opencode', 'plugin', 'stopgate.js'), plugin);
    write(join(project, 'opencode.json'), JSON.stringify(configFor(model)));
    return {
      args: ['serve', '--hostname', '127.0.0.1', '--port', '0'],
      env: offline,
      drive: async (address) => {
        const { id } = (await post(`${address}/session`, {})) as { id: string };
        await post(`${address}/session/${id}/message`, { parts: [{ type: 'text', text: 'Say hello.' }] });
      },
    };
  },
};

async function post(url: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`OpenCode answered ${answer.status} to ${new URL(url).pathname}`);
  return answer.json();
}

/** The doctor checks this for OpenCode: not hooks in settings, but our plugin. */
const agent = 'opencode';
export const doctor: Doctor = {
  find(places) {
    const plugins = findPlugins(places);
    return {
      scopes: plugins.map(({ scope }) => scope),
      problems: readOpencodeSwitches(
        { places },
        plugins.map(({ file }) => file),
      ),
      lines: plugins.map(({ text }) => text),
      check: (context) => runChecks(pluginChecks, { plugins, context }),
      dryTurn: (binary, path, pass) => {
        const tokenEnv = tokenVariableIn(plugins.map(({ text }) => text));
        const settingsFor = (http: string) => pluginText({ http, policy: undefined, fleet: undefined, tokenEnv });
        return tryTurn(dryTurn, { binary, path, pass, stopEvent: 'session.idle', settingsFor });
      },
    };
  },
};

const pluginChecks: Checks<{ readonly plugins: readonly Plugin[]; readonly context: CheckContext }> = {
  program: ({ context }) => checkProgram(context),
  plugins: ({ plugins, context }) => checkPlugins(plugins, context),
  usage: ({ context }) => checkUsage(context, null, ''),
};

type Plugin = { readonly scope: Scope; readonly file: string; readonly text: string };

const findPlugins = (places: Places): Plugin[] =>
  (['project', 'user'] as const).flatMap((scope) => {
    const file = pluginFile(scope, places);
    const text = readPlugin(file);
    return text === null ? [] : [{ scope, file, text }];
  });

/** Returns an empty text if it cannot be read, so that it points nowhere, and null if there is none. */
function readPlugin(file: string): string | null {
  try {
    return readText(file);
  } catch {
    return '';
  }
}

function checkPlugins(plugins: readonly Plugin[], { url, policies }: Pick<CheckContext, 'url' | 'policies'>): Answer[] {
  if (plugins.length === 0)
    return [bad('it has no plugin of stopgate, so no stop is judged', 'stopgate init opencode')];
  const twice = 'our plugin is both in this folder and in the user settings: each call comes twice';
  return [
    ...(plugins.length > 1 ? [warn(twice, 'stopgate init opencode --remove')] : []),
    ...plugins.map(({ scope, file, text }) =>
      text.includes(JSON.stringify(url))
        ? ok(`${file} is there, and points to ${url}`)
        : bad(
            `${file} does not point to ${url}`,
            `${initCommand(agent, { scope })} --http ${url.replace(/^https?:\/\//, '')}`,
          ),
    ),
    ...plugins.flatMap((plugin) => checkPolicyNames(agent, plugin, [plugin.text], policies)),
    warn('while the service is down every stop is allowed, and only its log tells', 'keep the service running'),
  ];
}

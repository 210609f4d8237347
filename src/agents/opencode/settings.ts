/** OpenCode for `init` and `doctor`: plugin and dry turn. Tested with 1.18.33. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import { builtScript } from '../../version.ts';
import type { CheckContext, Doctor } from '../doctor/doctor.ts';
import { type Answer, bad, type Checks, ok, runChecks, warn } from '../doctor/doctor.ts';
import { type DryTurn, tryTurn } from '../doctor/dry-turn.ts';
import { checkProgram, initCommand } from '../doctor/find-hooks.ts';
import { checkPolicyNames } from '../doctor/hook-doctor.ts';
import { checkUsage } from '../doctor/limit-checks.ts';
import { openChatCompletionsModel } from '../doctor/models.ts';
import { tokenVariableIn } from '../doctor/session.ts';
import type { Line } from '../setup/line.ts';
import { fileIn, type LocalContext, type Program, type Scope } from '../setup/local-context.ts';
import { type Change, openSettings, readText } from '../setup/settings-file.ts';
import type { SettingsSetup, SetupRequest } from '../setup/setup.ts';
import { readOpencodeSwitches } from './switches.ts';

const program: Program = {
  binary: 'opencode',
  testedVersion: '1.18.33',
  folder: ({ home, env }) => join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode'),
};

const pluginFile = fileIn(['.opencode', 'plugin', 'stopgate.js'], program.folder, ['plugin', 'stopgate.js']);

export const setup: SettingsSetup = {
  kind: 'settings',
  program,
  forms: ['http'],
  scopes: ['project', 'user'],
  // The plugin wakes the session without a hook.
  wakes: false,
  blockCap: null,
  planTools: null,
  usage: null,
  plan: (request) => [planPlugin(request)],
  trust: null,
};

const head = '// Written by "stopgate init opencode"; to remove it, run "stopgate init opencode --remove".\n';

function planPlugin({ scope, places, line, remove }: SetupRequest): Change {
  const file = openSettings(pluginFile(scope, places), scope === 'project' ? places.cwd : places.home);
  if (file.text !== null && !file.text.startsWith(head))
    throw new AppError('input.bad', `'${file.path}' was not written by stopgate; move it away first`);
  return { file, after: remove ? null : pluginText(line) };
}

/**
 * Returns the built plugin with address, token variable, policy and fleet filled in.
 * @throws AppError input.bad if the build has no plugin, or if a text to replace is missing from it, so that it would
 * call another service
 */
function pluginText({ http, policy, fleet, tokenEnv }: Pick<Line, 'http' | 'policy' | 'fleet' | 'tokenEnv'>): string {
  const source = builtScript('agents/opencode/plugin.js');
  let text: string;
  try {
    text = readFileSync(source, 'utf8').replace(/\n?\/\/# sourceMappingURL=.*\n?$/, '\n');
  } catch (cause) {
    throw new AppError('input.bad', 'this build of stopgate has no plugin for OpenCode; install stopgate again', {
      cause,
    });
  }
  const inFleet = fleet === undefined ? '' : `&fleet=${fleet}`;
  const query = `${policy === undefined ? '' : `&policy=${policy}`}${inFleet}`;
  const event = '?event=$' + '{event}';
  const worker = '?worker=$' + '{encodeURIComponent(id)}';
  const replacements = [
    ["defaultUrl = 'http://127.0.0.1:4280'", `defaultUrl = ${JSON.stringify(http)}`],
    ["tokenVariable = 'STOPGATE_TOKEN'", `tokenVariable = ${JSON.stringify(tokenEnv ?? 'STOPGATE_TOKEN')}`],
    [event, `${event}${query}`],
    [worker, `${worker}${inFleet}`],
  ] as const;
  for (const [placeholder, value] of replacements) {
    if (!text.includes(placeholder))
      throw new AppError(
        'input.bad',
        `the plugin for OpenCode in this build lacks '${placeholder}'; install stopgate again`,
      );
    text = text.replace(placeholder, () => value);
  }
  return `${head}${text}`;
}

/** Where nothing listens, so that fetching the registry or the list of models fails at once. */
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

/** Runs `opencode serve`, because `opencode run` ends when the session becomes idle. */
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
      dryTurn: (options) => {
        const tokenEnv = tokenVariableIn(plugins.map(({ text }) => text));
        const settingsFor = (http: string) => pluginText({ http, policy: undefined, fleet: undefined, tokenEnv });
        return tryTurn(dryTurn, { ...options, stopEvent: 'session.idle', settingsFor });
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

const findPlugins = (places: LocalContext): Plugin[] =>
  (['project', 'user'] as const).flatMap((scope) => {
    const file = pluginFile(scope, places);
    const text = readPlugin(file);
    return text === null ? [] : [{ scope, file, text }];
  });

/** Returns null if there is no plugin. An unreadable one gives an empty text, which then fails the address check. */
function readPlugin(file: string): string | null {
  try {
    return readText(file);
  } catch {
    return '';
  }
}

function checkPlugins(plugins: readonly Plugin[], { url, policies }: Pick<CheckContext, 'url' | 'policies'>): Answer[] {
  if (plugins.length === 0) return [bad('it has no stopgate plugin, so no stop is judged', 'stopgate init opencode')];
  const twice = 'our plugin is both in this folder and in the user settings: each event is reported twice';
  return [
    ...(plugins.length > 1 ? [warn(twice, 'stopgate init opencode --remove')] : []),
    ...plugins.map(({ scope, file, text }) =>
      text.includes(JSON.stringify(url))
        ? ok(`${file} is installed and calls ${url}`)
        : bad(
            `${file} does not call ${url}`,
            `${initCommand(agent, { scope })} --http ${url.replace(/^https?:\/\//, '')}`,
          ),
    ),
    ...plugins.flatMap((plugin) => checkPolicyNames(agent, plugin, [plugin.text], policies)),
    warn(
      "while the service is down, every stop is allowed and only OpenCode's log says so",
      'keep the service running',
    ),
  ];
}

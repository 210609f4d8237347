/** What the doctor checks for OpenCode: not hooks in settings, but our plugin. */
import type { CheckContext, Doctor } from '../doctor/doctor.ts';
import { tryTurn } from '../doctor/dry-turn.ts';
import { bad, type Finding, ok, warn } from '../doctor/finding.ts';
import { checkPolicyNames } from '../doctor/hook-checks.ts';
import { initCommand } from '../doctor/hooked.ts';
import { checkProgram } from '../doctor/program-check.ts';
import { tokenVariableIn } from '../doctor/session.ts';
import type { Places, Scope } from '../setup/places.ts';
import { readText } from '../setup/settings-file.ts';
import { dryTurn } from './dry-turn.ts';
import { pluginFile, pluginText } from './settings.ts';

const agent = 'opencode';
export const doctor: Doctor = {
  find(places) {
    const plugins = findPlugins(places);
    return {
      scopes: plugins.map(({ scope }) => scope),
      problems: [],
      lines: plugins.map(({ text }) => text),
      check: async (context) => [await checkProgram(context), ...checkPlugins(plugins, context)],
      dryTurn: (binary, path, pass) => {
        const tokenEnv = tokenVariableIn(plugins.map(({ text }) => text));
        const settingsFor = (http: string) => pluginText({ http, policy: undefined, fleet: undefined, tokenEnv });
        return tryTurn(dryTurn, { agent, binary, path, pass, stopEvent: 'session.idle', settingsFor });
      },
    };
  },
};

type Plugin = { readonly scope: Scope; readonly file: string; readonly text: string };

const findPlugins = (places: Places): Plugin[] =>
  (['project', 'user'] as const).flatMap((scope) => {
    const file = pluginFile(scope, places);
    const text = readPlugin(file);
    return text === null ? [] : [{ scope, file, text }];
  });

/** Empty: it cannot be read, so it points nowhere. Null: there is none. */
function readPlugin(file: string): string | null {
  try {
    return readText(file);
  } catch {
    return '';
  }
}

function checkPlugins(
  plugins: readonly Plugin[],
  { url, policies }: Pick<CheckContext, 'url' | 'policies'>,
): Finding[] {
  if (plugins.length === 0)
    return [bad(agent, 'it has no plugin of stopgate, so no stop is judged', 'stopgate init opencode')];
  const twice = 'our plugin is both in this folder and in the user settings: each call comes twice';
  return [
    ...(plugins.length > 1 ? [warn(agent, twice, 'stopgate init opencode --remove')] : []),
    ...plugins.map(({ scope, file, text }) =>
      text.includes(JSON.stringify(url))
        ? ok(agent, `${file} is there, and points to ${url}`)
        : bad(
            agent,
            `${file} does not point to ${url}`,
            `${initCommand(agent, { scope })} --http ${url.replace(/^https?:\/\//, '')}`,
          ),
    ),
    ...plugins.flatMap((plugin) => checkPolicyNames(agent, plugin, [plugin.text], policies)),
    warn(agent, 'while the service is down every stop is allowed, and only its log tells', 'keep the service running'),
  ];
}

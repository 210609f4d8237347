/** OpenCode has no settings of hooks, but a file of ours. */
import type { Places, Scope } from '../setup/agents.ts';
import { pluginFile } from '../setup/change.ts';
import { readText } from '../setup/settings-file.ts';
import { bad, type Finding, ok, warn } from './finding.ts';

const about = 'opencode';

export type Plugin = { readonly scope: Scope; readonly file: string; readonly text: string };

export const findPlugins = (places: Places): Plugin[] =>
  (['project', 'user'] as const).flatMap((scope) => {
    const file = pluginFile(scope, places);
    const text = readPlugin(file);
    return text === null ? [] : [{ scope, file, text }];
  });

/** What cannot be read points nowhere. */
function readPlugin(file: string): string | null {
  try {
    return readText(file);
  } catch {
    return '';
  }
}

export function checkPlugins(plugins: readonly Plugin[], url: string): Finding[] {
  const [first] = plugins;
  if (first === undefined)
    return [bad(about, 'it has no plugin of ours, so nothing is asked', 'stopgate init opencode')];
  const twice = plugins.length > 1;
  return [
    ...(twice
      ? [
          warn(
            about,
            'our plugin stands in this folder and in the user settings: each call comes twice',
            'stopgate init opencode --remove',
          ),
        ]
      : []),
    ...plugins.map(({ file, text }) =>
      text.includes(JSON.stringify(url))
        ? ok(about, `${file} is there, and points to ${url}`)
        : bad(
            about,
            `${file} does not point to ${url}`,
            `stopgate init opencode --http ${url.replace(/^https?:\/\//, '')}`,
          ),
    ),
    warn(about, 'with the service down every stop is allowed, and only its log says so', 'keep the service running'),
  ];
}

/** Finds our hooks in Claude Code's plugin: switched on in settings, and kept in a folder of its own. Seen with 2.1.330. */
import { join } from 'node:path';
import { z } from 'zod';
import type { Hooked } from '../doctor/hooked.ts';
import { readHooks } from '../setup/hook-settings.ts';
import { SyntaxProblem } from '../setup/json-edit.ts';
import { readText } from '../setup/settings-file.ts';

const switchesSchema = z.object({ enabledPlugins: z.record(z.string(), z.unknown()) });
const installedSchema = z.object({ plugins: z.record(z.string(), z.array(z.object({ installPath: z.string() }))) });

/** `settings`: parsed, later ones override earlier ones. Null: it is not installed, or switched off. */
export function findClaudePlugin(settings: readonly unknown[], configFolder: string): Hooked | null {
  const switches = settings.flatMap((one) => {
    const { data } = switchesSchema.safeParse(one);
    return data === undefined ? [] : Object.entries(data.enabledPlugins);
  });
  const name = [...new Map(switches)].find(([plugin, value]) => plugin.startsWith('stopgate@') && value === true)?.[0];
  if (name === undefined) return null;
  try {
    const list = JSON.parse(readText(join(configFolder, 'plugins', 'installed_plugins.json')) ?? '{}');
    const folder = installedSchema.safeParse(list).data?.plugins[name]?.at(-1)?.installPath;
    const file = join(folder ?? configFolder, 'hooks', 'hooks.json');
    const text = folder === undefined ? null : readText(file);
    return text === null ? null : { scope: 'plugin', file, text, hooks: readHooks(text) };
  } catch (error) {
    if (error instanceof SyntaxProblem || error instanceof SyntaxError || (error as NodeJS.ErrnoException).code)
      return null;
    throw error;
  }
}

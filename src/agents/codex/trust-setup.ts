/** Makes Codex trust the hooks that `init` writes, in its config.toml. */
import { dirname, join } from 'node:path';
import { planEdit } from '../setup/change.ts';
import { findProgram } from '../setup/installed.ts';
import { isOurs } from '../setup/line.ts';
import { type Places, rootOf } from '../setup/places.ts';
import { openSettings, type SettingsFile, writeSettings } from '../setup/settings-file.ts';
import type { Granted, Trust } from '../setup/setup.ts';
import { listCodexHooks, putTrust, takeTrust } from './trust.ts';

export const trust: Trust = {
  notice: 'After that, these hooks are also trusted in the config.toml of Codex (see "codex app-server", hooks/list).',
  planRemoval({ file }, places) {
    const config = openConfig(file, places);
    return config.text === null ? null : planEdit(config, (text) => takeTrust(text ?? ''));
  },
  async grant({ file }, places) {
    const binary = findProgram('codex', places.env);
    if (binary === null) return refused('codex is not on PATH');
    const hooks = await listCodexHooks(binary, places.cwd, places.env);
    const ours = (hooks ?? []).filter(
      ({ sourcePath, command }) =>
        [file.path, file.target].includes(sourcePath) && isOurs('codex', { command: command ?? '' }),
    );
    if (ours.length === 0) return refused('codex did not list its hooks');
    const config = openConfig(file, places);
    const { after } = planEdit(config, (text) => putTrust(text, ours));
    if (after === config.text) return { state: 'yes', note: null };
    writeSettings(config, after);
    return { state: 'written', note: `trusted in ${config.path}` };
  },
};

function openConfig(hooks: SettingsFile, places: Places): SettingsFile {
  const path = join(dirname(hooks.path), 'config.toml');
  return openSettings(path, rootOf(path, 'user', places));
}

const refused = (why: string): Granted => ({
  state: 'no',
  note: `${why}, so Codex does not trust these hooks yet, and silently skips them: accept them in Codex, by /hooks`,
});

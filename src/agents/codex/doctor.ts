/** What the doctor checks for Codex: it runs only hooks that its user has trusted. */
import { dirname, join } from 'node:path';
import type { CheckContext } from '../doctor/doctor.ts';
import { bad, type Finding, ok } from '../doctor/finding.ts';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import { describeSyntax, type Hooked } from '../doctor/hooked.ts';
import { readText } from '../setup/settings-file.ts';
import { dryTurn } from './dry-turn.ts';
import { hooks } from './settings.ts';
import { type CodexHook, listCodexHooks, trustIn } from './trust.ts';

const agent = 'codex';

export const doctor = createHookDoctor(hooks, {
  limits: { stopEvent: 'Stop', checkedEvent: null, timeoutUnitMs: 1_000, blockCap: null },
  dryTurn,
  checkSettings(file, all) {
    if (all.every(({ value }) => value.type !== 'http')) return [];
    return [bad(agent, `${file} has a hook of type "http", so Codex ignores the whole file`, 'remove that hook')];
  },
  checkHooked: async (hooked, context) => [checkTrust(hooked, await listHooks(context))],
});

/** Empty: Codex cannot be asked. */
async function listHooks({ binary, places }: CheckContext): Promise<readonly CodexHook[]> {
  return binary === null ? [] : ((await listCodexHooks(binary, places.cwd, places.env)) ?? []);
}

/** A hook that was changed after it was trusted has another hash, which only Codex itself knows. */
function checkTrust({ file, hooks: ours }: Hooked, listed: readonly CodexHook[]): Finding {
  const config = join(dirname(file), 'config.toml');
  const text = readText(config) ?? '';
  let trusted: ReadonlyMap<string, string>;
  try {
    trusted = trustIn(text);
  } catch (error) {
    return bad(agent, describeSyntax(config, text, error), 'fix it');
  }
  const isStale = (key: string) =>
    listed.some((hook) => hook.key === key && trusted.has(key) && trusted.get(key) !== hook.currentHash);
  const count = [...trusted].filter(([key, hash]) => key.startsWith(`${file}:`) && hash !== '' && !isStale(key)).length;
  if (count >= ours.length) return ok(agent, `its hooks are trusted in ${config}`);
  return bad(
    agent,
    `${count} of ${ours.length} hooks are trusted in ${config}: Codex silently skips the others`,
    'stopgate init codex, or /hooks in Codex',
  );
}

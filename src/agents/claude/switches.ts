/** Settings that turn Claude Code's hooks off, from its documentation. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, bad, skip } from '../doctor/doctor.ts';
import type { HookedFile } from '../doctor/find-hooks.ts';
import {
  createLayers,
  findAll,
  folderOf,
  httpHooks,
  judgeAddresses,
  judgeFlag,
  judgeUnknown,
  type Layer,
  mergeLists,
  notUnderstood,
  type ReadSwitches,
  show,
} from '../doctor/switches.ts';
import type { LocalContext } from '../setup/local-context.ts';

/**
 * Files of `managed-settings.d` override earlier ones in the alphabet, and all override the file next to the folder.
 */
function managedFiles(platform: NodeJS.Platform): string[] {
  const folder = folderOf(
    platform,
    '/etc/claude-code',
    '/Library/Application Support/ClaudeCode',
    'C:\\Program Files\\ClaudeCode',
  );
  const parts = join(folder, 'managed-settings.d');
  const names = existsSync(parts) ? readdirSync(parts).filter((name) => name.endsWith('.json')) : [];
  return [
    ...names
      .sort()
      .reverse()
      .map((name) => join(parts, name)),
    join(folder, 'managed-settings.json'),
  ];
}

const claudeHidden =
  'not checked: Claude Code settings from a server, MDM or "claude --settings", --bare, and hooks turned off with /hooks';

export const readClaudeSwitches =
  (folder: (places: LocalContext) => string): ReadSwitches =>
  ({ places, platform, hooked }) => {
    const layers = createLayers();
    const managed = managedFiles(platform).flatMap(layers.json);
    const own = [
      join(places.cwd, '.claude', 'settings.local.json'),
      join(places.cwd, '.claude', 'settings.json'),
      join(folder(places), 'settings.json'),
    ];
    return [
      ...layers.problems,
      ...judgeClaude(managed, [...new Set(own)].flatMap(layers.reported), { hooked, env: places.env }),
    ];
  };

/** @param own the local, project and user settings, in this order */
export function judgeClaude(
  managed: readonly Layer[],
  own: readonly Layer[],
  { hooked, env }: { readonly hooked: readonly HookedFile[]; readonly env: LocalContext['env'] },
): Answer[] {
  const all = [...managed, ...own];
  const isManaged = (file: string) => managed.some((layer) => layer.file === file);
  const others = hooked.filter(({ file }) => !isManaged(file));
  const only = others.length === 0 ? [] : judgeFlag(managed, 'allowManagedHooksOnly', true, 'our hooks do not run');
  return [
    ...judgeFlag(all, 'disableAllHooks', true),
    ...only,
    ...judgeStrict(managed, others),
    ...judgeAddresses(all, 'allowedHttpHookUrls', hooked),
    ...judgeVariables(all, hooked),
    ...judgeUnknown(all, claudeKeys),
    ...judgeSimple(all, env),
    ...(hooked.length === 0 ? [] : [skip(claudeHidden)]),
  ];
}

const claudeKeys = [
  'hooks',
  'disableAllHooks',
  'allowManagedHooksOnly',
  'allowedHttpHookUrls',
  'httpHookAllowedEnvVars',
];

/** The setting reserves everything for plugins (true), or a list of features that may include hooks. */
function judgeStrict(managed: readonly Layer[], others: readonly HookedFile[]): Answer[] {
  const path = 'strictPluginOnlyCustomization';
  const [found] = findAll(managed, path);
  if (found === undefined || others.every(({ scope }) => scope === 'plugin')) return [];
  const { file, value } = found;
  if (value === false || (Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== 'hooks')))
    return [];
  if (value !== true && !(Array.isArray(value) && value.includes('hooks'))) return [notUnderstood(found, path)];
  return [bad(`${file} has ${show(path, value)}: hooks in settings do not run`, 'install the stopgate plugin')];
}

/** Checks the allowlist of variables that a hook may send in its headers: without its token, calls are refused. */
function judgeVariables(layers: readonly Layer[], hooked: readonly HookedFile[]): Answer[] {
  const path = 'httpHookAllowedEnvVars';
  const { all, files, odd } = mergeLists(layers, path);
  const sent = httpHooks(hooked).flatMap(({ hook }) =>
    Array.isArray(hook.value.allowedEnvVars) ? hook.value.allowedEnvVars.map(String) : [],
  );
  const missing = [...new Set(sent)].filter((name) => all !== null && !all.includes(name));
  if (missing.length === 0) return odd;
  return [...odd, bad(`${path} in ${files} lacks ${missing.join(', ')}: the hooks send no token`, 'add it there')];
}

function judgeSimple(layers: readonly Layer[], env: LocalContext['env']): Answer[] {
  const isOn = (value: unknown) => value !== undefined && !['', '0', 'false'].includes(String(value).toLowerCase());
  return ['CLAUDE_CODE_SIMPLE', 'CLAUDE_CODE_SAFE_MODE'].flatMap((name) => {
    const where = isOn(env[name]) ? 'is set here' : null;
    const file = findAll(layers, `env.${name}`).find(({ value }) => isOn(value))?.file;
    if (where === null && file === undefined) return [];
    return [bad(`${name} ${where ?? `is set in ${file}`}: Claude Code runs without hooks`, 'unset it')];
  });
}

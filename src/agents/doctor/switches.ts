/**
 * Finds settings that turn an agent's hooks off, in the files of the machine, the user and the project, with the
 * agent's precedence. Unknown settings about hooks are reported too, because they may turn hooks off, and so are
 * settings that we cannot read. All of this follows the agents' documentation.
 */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { getNodeValue } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { parseJson } from '../setup/json-edit.ts';
import type { LocalContext } from '../setup/local-context.ts';
import { readText } from '../setup/settings-file.ts';
import { type Answer, bad, skip, warn } from './doctor.ts';
import type { HookedFile } from './find-hooks.ts';

type Settings = Readonly<Record<string, unknown>>;
/** One settings file. Lists of layers start with the highest precedence. */
export type Layer = { readonly file: string; readonly value: Settings };
export type SwitchSubject = {
  readonly places: LocalContext;
  readonly platform: NodeJS.Platform;
  /** The files that contain our hooks. */
  readonly hooked: readonly HookedFile[];
};
export type ReadSwitches = (subject: SwitchSubject) => readonly Answer[];

// --- layers ---------------------------------------------------------------------------------------------------

const isSettings = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const fromJson = (text: string): unknown => getNodeValue(parseJson(text.replace(/^\uFEFF/, '')));

/** Reads layers and collects problems with files that no other check reports. */
function createLayers() {
  const problems: Answer[] = [];
  const read = (file: string, parse: (text: string) => unknown, isReported: boolean): Layer[] => {
    try {
      const text = readText(file);
      if (text === null) return [];
      const value = parse(text);
      if (isSettings(value)) return [{ file, value }];
      throw new Error('it is not an object');
    } catch (error) {
      const why = (error as Error).message.split('\n')[0];
      if (!isReported)
        problems.push(
          warn(`${file} cannot be read (${why}), so it is unknown whether it turns hooks off`, 'check the file'),
        );
      return [];
    }
  };
  return {
    problems,
    json: (file: string) => read(file, fromJson, false),
    toml: (file: string) => read(file, parseToml, false),
    /** For files that the doctor also searches for hooks, which reports their problems. */
    reported: (file: string) => read(file, file.endsWith('.toml') ? parseToml : fromJson, true),
  };
}

function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const key of path.split('.')) found = isSettings(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  return found;
}

type Found = { readonly file: string; readonly value: unknown };

const findAll = (layers: readonly Layer[], path: string): Found[] =>
  layers.flatMap(({ file, value }) => {
    const found = valueAt(value, path);
    return found === undefined ? [] : [{ file, value: found }];
  });

const show = (path: string, value: unknown) => `"${path}": ${JSON.stringify(value)}`;

const notUnderstood = ({ file, value }: Found, path: string): Answer =>
  warn(`${file} has ${show(path, value)}, which stopgate does not understand`, 'run a dry turn to see if hooks run');

/** The layer with the highest precedence that sets the flag decides. */
function judgeFlag(layers: readonly Layer[], path: string, off: boolean, effect = 'no hook runs'): Answer[] {
  const [found] = findAll(layers, path);
  if (found === undefined) return [];
  if (typeof found.value !== 'boolean') return [notUnderstood(found, path)];
  return found.value === off
    ? [bad(`${found.file} has ${show(path, found.value)}`, `remove it: while it is set, ${effect}`)]
    : [];
}

/** Concatenates the lists of all layers. `all` is null if no layer has one. */
function mergeLists(layers: readonly Layer[], path: string): { all: string[] | null; files: string; odd: Answer[] } {
  const found = findAll(layers, path);
  const isList = ({ value }: Found) => Array.isArray(value) && value.every((item) => typeof item === 'string');
  const lists = found.filter(isList);
  return {
    all: lists.length === 0 ? null : lists.flatMap(({ value }) => value as string[]),
    files: lists.map(({ file }) => file).join(' and '),
    odd: found.filter((entry) => !isList(entry)).map((entry) => notUnderstood(entry, path)),
  };
}

/** Reports unknown settings whose names mention hooks. */
const judgeUnknown = (layers: readonly Layer[], known: readonly string[]): Answer[] =>
  layers.flatMap(({ file, value }) =>
    Object.keys(value)
      .filter((key) => /hook/i.test(key) && !known.includes(key))
      .map((key) => notUnderstood({ file, value: value[key] }, key)),
  );

const asPattern = (glob: string) =>
  new RegExp(`^${glob.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`, 'i');

const httpHooks = (hooked: readonly HookedFile[]) =>
  hooked.flatMap(({ file, hooks }) =>
    hooks.filter(({ value }) => value.type === 'http').map((hook) => ({ file, hook })),
  );

/** Checks an allowlist of the addresses that hooks may post to. */
function judgeAddresses(layers: readonly Layer[], path: string, hooked: readonly HookedFile[]): Answer[] {
  const { all, files, odd } = mergeLists(layers, path);
  const refused = httpHooks(hooked).find(
    ({ hook }) => !all?.some((glob) => asPattern(glob).test(String(hook.value.url))),
  );
  if (all === null || refused === undefined) return odd;
  const text = `${path} in ${files} does not allow ${refused.hook.value.url}: the hooks in ${refused.file} do not run`;
  return [...odd, bad(text, 'add the address there, or write the hooks with --form command')];
}

const folderOf = (platform: NodeJS.Platform, linux: string, mac: string, windows: string) =>
  platform === 'win32' ? windows : platform === 'darwin' ? mac : linux;

// --- Claude Code ----------------------------------------------------------------------------------------------

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

// --- Gemini CLI and Qwen Code ---------------------------------------------------------------------------------

type GeminiVariant = {
  readonly title: string;
  readonly folder: (places: LocalContext) => string;
  /** The name of the settings folder in a project. */
  readonly project: string;
  readonly system: Readonly<Record<'linux' | 'mac' | 'windows', string>>;
  /** Variables that override the paths of the machine's settings and of the trusted folders. */
  readonly variables: Readonly<Record<'settings' | 'defaults' | 'trust', string>>;
  readonly judge: (layers: readonly Layer[], hooked: readonly HookedFile[]) => Answer[];
};

const readGeminiLike =
  ({ title, folder, project, system, variables, judge }: GeminiVariant): ReadSwitches =>
  ({ places, platform, hooked }) => {
    const { env, cwd } = places;
    const layers = createLayers();
    const machine = folderOf(platform, system.linux, system.mac, system.windows);
    const user = folder(places);
    const above = layers.json(env[variables.settings] || join(machine, 'settings.json'));
    const ofUser = layers.reported(join(user, 'settings.json'));
    const below = layers.json(env[variables.defaults] || join(machine, 'system-defaults.json'));
    // A project's own settings cannot make it trusted.
    const outside = [...above, ...ofUser, ...below];
    const trust = judgeTrust(outside, env[variables.trust] || join(user, 'trustedFolders.json'), cwd, layers.json);
    const ofProject = trust.isTrusted ? layers.reported(join(cwd, project, 'settings.json')) : [];
    const inProject = hooked.filter(({ scope }) => scope === 'project');
    const untrusted = trust.isTrusted || inProject.length === 0 ? [] : [trust.answer(title)];
    return [
      ...layers.problems,
      ...trust.odd,
      ...untrusted,
      ...judge([...above, ...ofProject, ...ofUser, ...below], hooked),
      ...(hooked.length === 0
        ? []
        : [
            skip(
              `not checked: hooks that ${title} skips for one session, trust granted by an IDE, and whether you have approved a project's hooks`,
            ),
          ]),
    ];
  };

/** With `security.folderTrust.enabled`, project settings apply only in trusted folders. */
function judgeTrust(layers: readonly Layer[], file: string, cwd: string, read: (file: string) => Layer[]) {
  const path = 'security.folderTrust.enabled';
  const [found] = findAll(layers, path);
  const odd = found !== undefined && typeof found.value !== 'boolean' ? [notUnderstood(found, path)] : [];
  const rules = read(file).flatMap(({ value }) => Object.entries(value));
  const trusts = rules.flatMap(([folder, level]) =>
    level === 'TRUST_PARENT' ? [[dirname(folder), 'TRUST_FOLDER'] as const] : [[folder, level] as const],
  );
  // The nearest rule decides.
  const [nearest] = trusts.filter(([folder]) => isWithin(folder, cwd)).sort(([a], [b]) => b.length - a.length);
  const isTrusted = found?.value !== true || nearest?.[1] === 'TRUST_FOLDER';
  return {
    odd,
    isTrusted,
    answer: (title: string) =>
      bad(
        `${title} does not trust ${cwd} (${found?.file}, ${file}), so the project's hooks do not run`,
        `trust it in ${title}, or: stopgate init --user`,
      ),
  };
}

function isWithin(folder: string, path: string): boolean {
  const real = (name: string) => {
    try {
      return realpathSync(name);
    } catch {
      return name;
    }
  };
  const route = relative(real(folder), real(path));
  return route !== '..' && !route.startsWith(`..${sep}`) && !isAbsolute(route);
}

export function judgeGemini(layers: readonly Layer[], hooked: readonly HookedFile[]): Answer[] {
  const path = 'hooksConfig.disabled';
  const { all, files, odd } = mergeLists(layers, path);
  const isOff = (hook: HookedFile['hooks'][number]) =>
    [hook.value.name, hook.value.command].some((name) => typeof name === 'string' && all?.includes(name));
  const off = hooked.flatMap(({ hooks }) => hooks.filter(isOff).map(({ event }) => event));
  return [
    ...judgeFlag(layers, 'hooksConfig.enabled', false),
    ...judgeFlag(layers, 'tools.enableHooks', false),
    ...odd,
    ...(off.length === 0
      ? []
      : [bad(`${path} in ${files} lists our hooks for ${[...new Set(off)].join(', ')}`, 'remove them there')]),
    ...judgeUnknown(layers, ['hooks', 'hooksConfig']),
  ];
}

export function judgeQwen(layers: readonly Layer[], hooked: readonly HookedFile[]): Answer[] {
  return [
    ...judgeFlag(layers, 'disableAllHooks', true),
    ...judgeFlag(layers, 'hooksConfig.enabled', false),
    ...judgeAddresses(layers, 'security.allowedHttpHookUrls', hooked),
    ...judgeUnknown(layers, ['hooks', 'disableAllHooks', 'hooksConfig']),
  ];
}

export const readGeminiSwitches = (folder: GeminiVariant['folder']): ReadSwitches =>
  readGeminiLike({
    title: 'Gemini CLI',
    folder,
    project: '.gemini',
    system: {
      linux: '/etc/gemini-cli',
      mac: '/Library/Application Support/GeminiCli',
      windows: 'C:\\ProgramData\\gemini-cli',
    },
    variables: {
      settings: 'GEMINI_CLI_SYSTEM_SETTINGS_PATH',
      defaults: 'GEMINI_CLI_SYSTEM_DEFAULTS_PATH',
      trust: 'GEMINI_CLI_TRUSTED_FOLDERS_PATH',
    },
    judge: judgeGemini,
  });

export const readQwenSwitches = (folder: GeminiVariant['folder']): ReadSwitches =>
  readGeminiLike({
    title: 'Qwen Code',
    folder,
    project: '.qwen',
    system: {
      linux: '/etc/qwen-code',
      mac: '/Library/Application Support/QwenCode',
      windows: 'C:\\ProgramData\\qwen-code',
    },
    variables: {
      settings: 'QWEN_CODE_SYSTEM_SETTINGS_PATH',
      defaults: 'QWEN_CODE_SYSTEM_DEFAULTS_PATH',
      trust: 'QWEN_CODE_TRUSTED_FOLDERS_PATH',
    },
    judge: judgeQwen,
  });

// --- Codex ----------------------------------------------------------------------------------------------------

export const readCodexSwitches =
  (folder: (places: LocalContext) => string): ReadSwitches =>
  ({ places, platform, hooked }) => {
    const layers = createLayers();
    const machine = folderOf(platform, '/etc/codex', '/etc/codex', 'C:\\ProgramData\\OpenAI\\Codex');
    const requirements = layers.toml(join(machine, 'requirements.toml'));
    const user = layers.reported(join(folder(places), 'config.toml'));
    const isTrusted = findAll(user, 'projects').some(({ value }) =>
      Object.entries(isSettings(value) ? value : {}).some(
        ([path, project]) => valueAt(project, 'trust_level') === 'trusted' && isWithin(path, places.cwd),
      ),
    );
    // Codex reads a project's settings only if it trusts the project.
    const project = isTrusted ? layers.toml(join(places.cwd, '.codex', 'config.toml')) : [];
    const system = layers.toml(join(machine, 'config.toml'));
    return [...layers.problems, ...judgeCodex(requirements, [...project, ...user, ...system], hooked)];
  };

/** @param own the project, user and system settings, in this order */
export function judgeCodex(
  requirements: readonly Layer[],
  own: readonly Layer[],
  hooked: readonly HookedFile[],
): Answer[] {
  // The active profile has precedence over the layers.
  const profile = findAll(own, 'profile')[0]?.value;
  const profiles = own.flatMap(({ file, value }) => {
    const chosen = isSettings(value.profiles) && typeof profile === 'string' ? value.profiles[profile] : undefined;
    return isSettings(chosen) ? [{ file, value: chosen }] : [];
  });
  // `codex_hooks` is the older name. It applies if the newer one is not set.
  const named = [...requirements, ...profiles, ...own].map(({ file, value }) => {
    const features = isSettings(value.features) ? value.features : {};
    return { file, value: { features: { hooks: features.hooks ?? features.codex_hooks } } };
  });
  const off = own.flatMap((layer) =>
    Object.entries(
      isSettings(valueAt(layer.value, 'hooks.state')) ? (valueAt(layer.value, 'hooks.state') as Settings) : {},
    )
      .filter(
        ([key, state]) => valueAt(state, 'enabled') === false && hooked.some(({ file }) => key.startsWith(`${file}:`)),
      )
      .map(([key]) => bad(`${layer.file} turns the hook ${key} off`, 'turn it on in Codex with /hooks')),
  );
  return [
    ...judgeFlag(named, 'features.hooks', false),
    ...(hooked.length === 0 ? [] : judgeFlag(requirements, 'allow_managed_hooks_only', true, 'our hooks do not run')),
    ...off,
    ...judgeUnknown(requirements, ['hooks', 'allow_managed_hooks_only']),
    ...judgeUnknown(own, ['hooks']),
    ...(hooked.length === 0
      ? []
      : [skip('not checked: Codex settings from MDM, the cloud, and the options -c, --disable and --profile')]),
  ];
}

// --- Copilot CLI, Cursor, OpenCode ----------------------------------------------------------------------------

export const readCopilotSwitches =
  (folder: (places: LocalContext) => string): ReadSwitches =>
  ({ places, hooked }) => {
    const { cwd } = places;
    const layers = createLayers();
    const ofProject = ['settings.local.json', 'settings.json'].map((name) => join(cwd, '.github', 'copilot', name));
    const ofUser = ['settings.json', 'config.json'].map((name) => join(folder(places), name));
    const user = ofUser.flatMap(layers.json);
    // A hooks file may disable its own hooks.
    const own = hooked.flatMap(({ file }) => judgeFlag(layers.reported(file), 'disableAllHooks', true));
    const all = [...ofProject.flatMap(layers.json), ...user];
    const trusted = ['trustedFolders', 'trusted_folders'].map((path) => mergeLists(user, path));
    const folders = trusted.flatMap(({ all: list }) => list ?? []);
    const project = hooked.find(({ scope }) => scope === 'project');
    const isOpen = project === undefined || folders.some((trustedFolder) => isWithin(trustedFolder, cwd));
    return [
      ...layers.problems,
      ...own,
      ...judgeFlag(all, 'disableAllHooks', true),
      ...trusted.flatMap(({ odd }) => odd),
      ...judgeUnknown(all, ['hooks', 'disableAllHooks']),
      ...(isOpen
        ? []
        : [
            warn(
              `Copilot CLI does not trust ${cwd} yet: "copilot -p" ignores the hooks in ${project.file}`,
              'start copilot here once and trust the folder, or set GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS=true',
            ),
          ]),
      ...(hooked.length === 0 ? [] : [skip("not checked: the organisation's policies for Copilot")]),
    ];
  };

export const readCursorSwitches: ReadSwitches = ({ hooked }) =>
  hooked.length === 0
    ? []
    : [
        skip(
          'not checked: whether Cursor trusts this workspace, and whether team or enterprise settings turn hooks off',
        ),
      ];

/** OpenCode has our plugin instead of hooks. */
export const readOpencodeSwitches = (
  { places }: Pick<SwitchSubject, 'places'>,
  plugins: readonly string[],
): Answer[] => {
  const { env, cwd, home } = places;
  if (plugins.length === 0) return [];
  const layers = createLayers();
  const folders = [
    join(cwd, '.opencode'),
    cwd,
    env.OPENCODE_CONFIG_DIR || join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode'),
  ];
  const files = folders.flatMap((folder) => ['opencode.jsonc', 'opencode.json'].map((name) => join(folder, name)));
  const all = [...new Set(files)].flatMap(layers.json);
  const isPure = !['', '0', 'false'].includes((env.OPENCODE_PURE ?? '').toLowerCase());
  const excluded = findAll(all, 'plugins').flatMap(({ file, value }) =>
    (Array.isArray(value) ? value : [])
      .filter((item): item is string => typeof item === 'string' && item.startsWith('-'))
      .filter((item) => asPattern(item.slice(1)).test('stopgate'))
      .map((item) => bad(`${file} excludes plugins: "${item}"`, 'remove it: while it is set, our plugin does not run')),
  );
  return [
    ...layers.problems,
    ...(isPure ? [bad('OPENCODE_PURE is set here: OpenCode runs without plugins', 'unset it')] : []),
    ...excluded,
    skip('not checked: "opencode --pure" and settings of the organisation'),
  ];
};

/** A switch of an agent of the table. */
export type ListedSwitch = {
  /** The highest precedence first. */
  readonly files: readonly string[];
  readonly path: string;
  /** The value that turns hooks off; a text stands for a list that contains it. */
  readonly off: boolean | string;
};

export const readListedSwitches =
  (title: string, switchesOf: (places: LocalContext) => readonly ListedSwitch[]): ReadSwitches =>
  ({ places, hooked }) => {
    if (hooked.length === 0) return [];
    const layers = createLayers();
    const read = (file: string) =>
      hooked.some((own) => own.file === file) ? layers.reported(file) : layers.json(file);
    const found = switchesOf(places).flatMap(({ files, path, off }) => {
      const all = files.flatMap(read);
      if (typeof off === 'boolean') return all.flatMap((layer) => judgeFlag([layer], path, off));
      const { all: list, files: where, odd } = mergeLists(all, path);
      const isOff = list?.includes(off) ?? false;
      return [
        ...odd,
        ...(isOff ? [bad(`${where} has "${off}" in "${path}"`, 'remove it: while it is there, no hook runs')] : []),
      ];
    });
    return [...layers.problems, ...found, skip(`not checked: settings of ${title} from a server or an organisation`)];
  };

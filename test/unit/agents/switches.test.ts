/**
 * Settings that turn an agent's hooks off, with the agent's precedence. Unknown settings are never reported as fine.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { judgeClaude } from '../../../src/agents/claude/switches.ts';
import { judgeCodex, readCodexSwitches } from '../../../src/agents/codex/switches.ts';
import { readCopilotSwitches } from '../../../src/agents/copilot/switches.ts';
import { readCursorSwitches } from '../../../src/agents/cursor/switches.ts';
import type { Answer } from '../../../src/agents/doctor/doctor.ts';
import type { HookedFile } from '../../../src/agents/doctor/find-hooks.ts';
import { judgeGemini, readGeminiSwitches } from '../../../src/agents/gemini/switches.ts';
import { readOpencodeSwitches } from '../../../src/agents/opencode/switches.ts';
import { judgeQwen } from '../../../src/agents/qwen/switches.ts';

const hookedBy = (value: Record<string, unknown>, more: Partial<HookedFile> = {}): HookedFile => ({
  scope: 'project',
  file: '/p/settings.json',
  text: '',
  hooks: [{ event: 'Stop', value }],
  ...more,
});
const http = hookedBy({ type: 'http', url: 'http://127.0.0.1:4280/hooks/claude', allowedEnvVars: ['STOPGATE_TOKEN'] });
const command = hookedBy({ type: 'command', command: 'npx stopgate hook claude' });

/** Files by content, highest precedence first. */
const layers = (...values: Record<string, unknown>[]) => values.map((value, at) => ({ file: `/layer-${at}`, value }));
const reported = (answers: readonly Answer[]) => answers.filter(({ state }) => state !== 'skip');
const states = (answers: readonly Answer[]) => reported(answers).map(({ state }) => state);

describe('Claude Code', () => {
  type Case = {
    readonly what: string;
    readonly managed?: Record<string, unknown>;
    /** The local, project and user settings. */
    readonly own?: Record<string, unknown>[];
    readonly hooked?: HookedFile;
    readonly env?: Record<string, string>;
    readonly found: string[];
  };
  const off = { disableAllHooks: true };
  const on = { disableAllHooks: false };
  test.each<Case>([
    { what: 'nothing is set', found: [] },
    { what: 'managed settings turn all hooks off', managed: off, own: [on], found: ['bad'] },
    { what: 'user settings turn all hooks off', own: [{}, {}, off], found: ['bad'] },
    { what: 'project settings override user settings', own: [{}, on, off], found: [] },
    { what: 'local settings override project settings', own: [off, on], found: ['bad'] },
    { what: 'managed settings override all', managed: on, own: [off], found: [] },
    { what: 'only managed hooks', managed: { allowManagedHooksOnly: true }, found: ['bad'] },
    { what: 'only managed hooks, set by a project', own: [{ allowManagedHooksOnly: true }], found: [] },
    {
      what: 'only managed hooks, and ours are',
      managed: { allowManagedHooksOnly: true },
      hooked: { ...http, file: '/managed-0' },
      found: [],
    },
    { what: 'only plugins', managed: { strictPluginOnlyCustomization: ['hooks'] }, found: ['bad'] },
    { what: 'only plugins, for others', managed: { strictPluginOnlyCustomization: ['skills'] }, found: [] },
    {
      what: 'only plugins, and ours is one',
      managed: { strictPluginOnlyCustomization: true },
      hooked: { ...http, scope: 'plugin' },
      found: [],
    },
    { what: 'no address is allowed', own: [{ allowedHttpHookUrls: [] }], found: ['bad'] },
    { what: 'another address is allowed', own: [{ allowedHttpHookUrls: ['https://x.example/*'] }], found: ['bad'] },
    {
      what: 'lists are merged',
      own: [{ allowedHttpHookUrls: ['https://x.example/*'] }, { allowedHttpHookUrls: ['http://127.0.0.1:*'] }],
      found: [],
    },
    { what: 'a command needs no address', own: [{ allowedHttpHookUrls: [] }], hooked: command, found: [] },
    { what: 'the token may not be sent', own: [{ httpHookAllowedEnvVars: ['OTHER'] }], found: ['bad'] },
    { what: 'the token may be sent', own: [{ httpHookAllowedEnvVars: ['STOPGATE_TOKEN'] }], found: [] },
    { what: 'a variable', env: { CLAUDE_CODE_SIMPLE: '1' }, found: ['bad'] },
    { what: 'a variable in settings', own: [{ env: { CLAUDE_CODE_SIMPLE: '1' } }], found: ['bad'] },
    { what: 'a variable that is off', env: { CLAUDE_CODE_SIMPLE: '0' }, found: [] },
    // Unknown values are never reported as fine.
    { what: 'a flag given as a string', own: [{ disableAllHooks: 'true' }], found: ['warn'] },
    { what: 'a list given as a string', own: [{ allowedHttpHookUrls: '*' }], found: ['warn'] },
    { what: 'another setting about hooks', managed: { hookPolicy: 'strict' }, found: ['warn'] },
    {
      what: 'another form of the strict setting',
      managed: { strictPluginOnlyCustomization: 'hooks' },
      found: ['warn'],
    },
  ])('$what', ({ managed, own = [], hooked = http, env = {}, found }) => {
    const above = managed === undefined ? [] : [{ file: '/managed-0', value: managed }];
    const answers = judgeClaude(above, layers(...own), { hooked: [hooked], env });
    expect(states(answers)).toEqual(found);
    // Settings from a server, MDM or the command line cannot be checked.
    expect(answers.at(-1)).toMatchObject({ state: 'skip', text: expect.stringContaining('--settings') });
  });
});

test.each([
  { value: {}, found: [] },
  { value: { hooksConfig: { enabled: false } }, found: ['bad'] },
  { value: { hooksConfig: { enabled: true, disabled: ['other'] } }, found: [] },
  { value: { hooksConfig: { disabled: ['npx stopgate hook claude'] } }, found: ['bad'] },
  { value: { hooksConfig: { disabled: 'all' } }, found: ['warn'] },
  { value: { tools: { enableHooks: false } }, found: ['bad'] },
  { value: { hookMode: 'off' }, found: ['warn'] },
])('Gemini CLI: $value', ({ value, found }) => {
  expect(states(judgeGemini(layers(value), [command]))).toEqual(found);
  expect(states(judgeGemini(layers({ hooksConfig: { enabled: true } }, value), [command])).length).toBe(
    'enabled' in (value.hooksConfig ?? {}) ? 0 : found.length,
  );
});

test.each([
  { value: {}, found: [] },
  { value: { disableAllHooks: true }, found: ['bad'] },
  { value: { security: { allowedHttpHookUrls: ['https://x.example/*'] } }, found: ['bad'] },
  { value: { disableAllHooks: 1 }, found: ['warn'] },
])('Qwen Code: $value', ({ value, found }) => {
  expect(states(judgeQwen(layers(value), [http]))).toEqual(found);
});

test.each([
  { what: 'nothing', requirements: {}, own: [], found: [] },
  { what: 'off by the user', requirements: {}, own: [{ features: { hooks: false } }], found: ['bad'] },
  { what: 'off by its older name', requirements: {}, own: [{ features: { codex_hooks: false } }], found: ['bad'] },
  {
    what: 'the newer name has precedence',
    requirements: {},
    own: [{ features: { codex_hooks: false, hooks: true } }],
    found: [],
  },
  {
    what: 'the project has precedence',
    requirements: {},
    own: [{ features: { hooks: true } }, { features: { hooks: false } }],
    found: [],
  },
  {
    what: 'the profile has precedence',
    requirements: {},
    own: [{ profile: 'p', profiles: { p: { features: { hooks: false } } }, features: { hooks: true } }],
    found: ['bad'],
  },
  {
    what: 'requirements have precedence over all',
    requirements: { features: { hooks: false } },
    own: [{ features: { hooks: true } }],
    found: ['bad'],
  },
  { what: 'only managed hooks', requirements: { allow_managed_hooks_only: true }, own: [], found: ['bad'] },
  {
    what: 'one hook is off',
    requirements: {},
    own: [{ hooks: { state: { '/p/settings.json:stop:0:0': { enabled: false } } } }],
    found: ['bad'],
  },
  { what: 'a flag given as a string', requirements: {}, own: [{ features: { hooks: 'no' } }], found: ['warn'] },
])('Codex: $what', ({ requirements, own, found }) => {
  expect(states(judgeCodex(layers(requirements), layers(...own), [command]))).toEqual(found);
});

describe('files', () => {
  const makePlace = (files: Record<string, string>) => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'stopgate-switches-')));
    onTestFinished(() => rmSync(root, { recursive: true }));
    for (const [name, text] of Object.entries({ 'project/.keep': '', 'home/.keep': '', ...files })) {
      mkdirSync(join(root, dirname(name)), { recursive: true });
      writeFileSync(join(root, name), text.replaceAll('ROOT', root));
    }
    const at = (...names: string[]) => join(root, ...names);
    return { at, places: { cwd: at('project'), home: at('home'), env: {} as Record<string, string> } };
  };
  const trusts = '{ "security": { "folderTrust": { "enabled": true } } }';

  test.each([
    { what: 'nothing is set, so folders need trust', files: {}, found: ['bad'] },
    { what: 'off', files: { 'home/.gemini/settings.json': trusts.replace('true', 'false') }, found: [] },
    {
      what: 'a value of another type',
      files: { 'home/.gemini/settings.json': trusts.replace('true', '1') },
      found: ['warn', 'bad'],
    },
    { what: 'no rule', files: { 'home/.gemini/settings.json': trusts }, found: ['bad'] },
    { what: 'trusted by the environment', files: {}, env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' }, found: [] },
    {
      what: 'restricted by the environment',
      files: { 'home/.gemini/trustedFolders.json': '{ "ROOT/project": "TRUST_FOLDER" }' },
      env: { GEMINI_RESTRICTED_MODE: 'true' },
      found: ['bad'],
    },
    {
      what: 'trusted',
      files: {
        'home/.gemini/settings.json': trusts,
        'home/.gemini/trustedFolders.json': '{ "ROOT/project": "TRUST_FOLDER" }',
      },
      found: [],
    },
    {
      what: 'a nearer rule denies it',
      files: {
        'home/.gemini/settings.json': trusts,
        'home/.gemini/trustedFolders.json': '{ "ROOT": "TRUST_FOLDER", "ROOT/project": "DO_NOT_TRUST" }',
      },
      found: ['bad'],
    },
    {
      what: 'trusted through its parent',
      files: {
        'home/.gemini/settings.json': trusts,
        'home/.gemini/trustedFolders.json': '{ "ROOT/project": "TRUST_PARENT" }',
      },
      found: [],
    },
    {
      what: 'a project cannot trust itself',
      files: { 'home/.gemini/settings.json': trusts, 'project/.gemini/settings.json': trusts.replace('true', 'false') },
      found: ['bad'],
    },
  ])('Gemini CLI’s trusted folders: $what', ({ files, found, env = {} }) => {
    const { places, at } = makePlace(files);
    const none = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: at('none'), GEMINI_CLI_SYSTEM_DEFAULTS_PATH: at('none') };
    places.env = { ...none, ...env };
    const read = readGeminiSwitches(() => at('home/.gemini'));
    expect(states(read({ places, platform: 'linux', hooked: [command] }))).toEqual(found);
    // User hooks run in every folder.
    const ofUser = states(read({ places, platform: 'linux', hooked: [{ ...command, scope: 'user' }] }));
    expect(ofUser).not.toContain('bad');
  });

  test('machine settings override project settings, and an unreadable file is reported', () => {
    const { places, at } = makePlace({
      'machine.json': '{ "hooksConfig": { "enabled": false } }',
      'project/.gemini/settings.json': '{ "hooksConfig": { "enabled": true } }',
      'broken.json': '{ "hooksConfig": ',
      'home/.gemini/trustedFolders.json': '{ "ROOT/project": "TRUST_FOLDER" }',
    });
    const read = readGeminiSwitches(() => at('home/.gemini'));
    const ask = (file: string) => {
      places.env = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: at(file), GEMINI_CLI_SYSTEM_DEFAULTS_PATH: at('none') };
      return reported(read({ places, platform: 'linux', hooked: [command] }));
    };
    expect(ask('machine.json')).toEqual([expect.objectContaining({ state: 'bad' })]);
    expect(ask('broken.json')).toEqual([
      expect.objectContaining({
        state: 'warn',
        text: expect.stringContaining('unknown whether it turns hooks off'),
      }),
    ]);
  });

  test('Codex reads project settings only if it trusts the project', () => {
    for (const level of ['trusted', 'untrusted']) {
      const { places, at } = makePlace({
        'home/.codex/config.toml': `[projects."ROOT/project"]\ntrust_level = "${level}"\n`,
        'project/.codex/config.toml': '[features]\nhooks = false\n',
      });
      const read = readCodexSwitches(() => at('home/.codex'));
      const found = states(read({ places, platform: 'linux', hooked: [command] }));
      expect(found).toEqual(level === 'trusted' ? ['bad'] : []);
    }
  });

  test('Copilot CLI: hook files, settings and trusted folders', () => {
    const ask = (files: Record<string, string>) => {
      const { places, at } = makePlace(files);
      const hooked = { ...command, file: at('project/.github/hooks/stopgate.json') };
      return states(readCopilotSwitches(() => at('home/.copilot'))({ places, platform: 'linux', hooked: [hooked] }));
    };
    expect(ask({})).toEqual(['warn']);
    const trusted = { 'home/.copilot/config.json': '{ "trusted_folders": ["ROOT"] }' };
    expect(ask(trusted)).toEqual([]);
    expect(ask({ ...trusted, 'project/.github/copilot/settings.json': '{ "disableAllHooks": true }' })).toEqual([
      'bad',
    ]);
    expect(ask({ ...trusted, 'project/.github/hooks/stopgate.json': '{ "disableAllHooks": true }' })).toEqual(['bad']);
  });

  test('OpenCode: plugins disabled, or ours excluded; Cursor: what was not checked', () => {
    const { places } = makePlace({ 'project/opencode.json': '{ "plugins": ["a", "-b", "-stop*"] }' });
    expect(states(readOpencodeSwitches({ places }, ['stopgate.js']))).toEqual(['bad']);
    expect(states(readOpencodeSwitches({ places: { ...places, env: { OPENCODE_PURE: '1' } } }, ['p']))).toEqual([
      'bad',
      'bad',
    ]);
    expect(readOpencodeSwitches({ places }, [])).toEqual([]);
    expect(readCursorSwitches({ places, platform: 'linux', hooked: [command] })).toMatchObject([{ state: 'skip' }]);
  });
});

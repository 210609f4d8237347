/** Claude Code for `init` and `doctor`: settings, plugin and dry turn. Tested with 2.1.332. */
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { z } from 'zod';
import type { DryTurn } from '../doctor/dry-turn.ts';
import type { HookedFile } from '../doctor/find-hooks.ts';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { type FakeModel, type ModelRequest, modelText, openFakeModel, sendEvents, sendJson } from '../doctor/models.ts';
import { type AgentHooks, createHookSetup, httpOrCommandHandler } from '../setup/agent-hooks.ts';
import { readHooks } from '../setup/hook-settings.ts';
import { SyntaxProblem } from '../setup/json-edit.ts';
import { formatWakeCommand, httpForms, type Line } from '../setup/line.ts';
import { fileIn, type LocalContext, type Program } from '../setup/local-context.ts';
import { readText } from '../setup/settings-file.ts';
import type { PlanTools } from '../setup/setup.ts';
import { readJsonFile, receiverFor, type UsageSetup, usageVariables } from '../setup/usage.ts';
import { listEvents } from './agent-sdk.ts';
import { hookCommand } from './hook-command.ts';
import { checkOtherPrograms, describeOtherPrograms } from './other-programs.ts';
import { readClaudeSwitches } from './switches.ts';

const variable = (name: string, valueFor: (line: Line) => string) => ({ name, mark: `STOPGATE_${name}`, valueFor });

const envSchema = z.object({ env: z.record(z.string(), z.unknown()) });

/** Sends Claude Code's events to the service's OTLP receiver. */
const usage: UsageSetup = {
  // Project settings cannot set these, because a repository could then send its visitors' telemetry anywhere.
  scopes: ['user'],
  // Only events, because metrics repeat them. By default they do not contain prompts.
  settings: usageVariables([
    variable('CLAUDE_CODE_ENABLE_TELEMETRY', () => '1'),
    variable('OTEL_LOGS_EXPORTER', () => 'otlp'),
    variable('OTEL_EXPORTER_OTLP_LOGS_PROTOCOL', () => 'http/json'),
    variable('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT', (line) => receiverFor(line, '/v1/logs')),
  ]),
  environment: null,
  target({ env, home }) {
    const file = join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json');
    const set = { ...env, ...envSchema.safeParse(readJsonFile(file)).data?.env };
    if (set.CLAUDE_CODE_ENABLE_TELEMETRY === undefined || !String(set.OTEL_LOGS_EXPORTER).includes('otlp')) return null;
    const target = set.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT ?? set.OTEL_EXPORTER_OTLP_ENDPOINT;
    return typeof target === 'string' ? target : null;
  },
  inDollars: true,
};

const agent = 'claude';
/** A person may take a day to resolve an escalation. */
const wakeSeconds = 24 * 60 * 60;

export const program: Program = {
  binary: 'claude',
  testedVersion: '2.1.332',
  folder: ({ home, env }) => env.CLAUDE_CONFIG_DIR || join(home, '.claude'),
};

/** The variable that limits consecutive blocks. */
const blockCap = { name: 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP', mark: 'STOPGATE_BLOCK_CAP' } as const;
/** The variable that enables the plan tools. */
const planTools = { name: 'CLAUDE_CODE_ENABLE_TODO_TOOLS', mark: 'STOPGATE_PLAN_TOOLS' } as const;

const hooks: AgentHooks = {
  agent,
  hook: hookCommand,
  program,
  forms: httpForms,
  scopes: ['project', 'user'],
  file: fileIn(['.claude', 'settings.json'], program.folder, ['settings.json']),
  events: listEvents,
  grouped: true,
  handler: (event, line, command) => httpOrCommandHandler(agent, event, line, command, (name) => `$${name}`),
  // Without `async`, a run that takes no further input would wait for the hook.
  waker: (line) => [
    'Stop',
    {
      type: 'command',
      command: formatWakeCommand({ agent, hook: hookCommand }, line),
      timeout: wakeSeconds,
      async: true,
      asyncRewake: true,
    },
  ],
  // 0 disables the cap.
  blockCap: { ...blockCap, least: 0, most: 999_999, valueFor: (blocks) => blocks },
  usage,
  alsoRunBy: describeOtherPrograms,
  planTools: { ...planTools, read: (places) => readPlanTools(places, program.folder(places)) },
};

export const setup = createHookSetup(hooks);

/** A fake model with the API that Claude Code calls. */
const openMessagesModel = (): Promise<FakeModel> =>
  openFakeModel({
    isTurn: (path) => /^\/v1\/messages(\?|$)/.test(path),
    other: (path) => (path.includes('count_tokens') ? { input_tokens: 1 } : {}),
    answerTurn,
  });

const oneToken = { input_tokens: 1, output_tokens: 1 };

function answerTurn(response: ServerResponse, { model = 'fake', stream }: ModelRequest, count: number): void {
  const head = { id: `msg_${count}`, type: 'message', role: 'assistant', model, stop_sequence: null, usage: oneToken };
  if (stream !== true) {
    sendJson(response, 200, { ...head, content: [{ type: 'text', text: modelText }], stop_reason: 'end_turn' });
    return;
  }
  sendEvents(response, [
    { type: 'message_start', message: { ...head, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: modelText } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]);
}

const dryTurn: DryTurn = {
  openModel: openMessagesModel,
  async prepare({ home, settings, model, write }) {
    const config = join(home, '.claude');
    write(join(config, 'settings.json'), settings);
    return {
      args: ['-p', 'Say hello.', '--output-format', 'json'],
      env: {
        ANTHROPIC_BASE_URL: model,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CONFIG_DIR: config,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        IS_SANDBOX: '1',
      },
    };
  },
};

const switchesSchema = z.object({ enabledPlugins: z.record(z.string(), z.unknown()) });
const installedSchema = z.object({ plugins: z.record(z.string(), z.array(z.object({ installPath: z.string() }))) });

/**
 * Finds our hooks in the stopgate plugin for Claude Code. Returns null if it is not installed or not enabled.
 * @param settings parsed settings; later ones override earlier ones
 */
function findClaudePlugin(settings: readonly unknown[], configFolder: string): HookedFile | null {
  const switches = settings.flatMap((value) => {
    const { data } = switchesSchema.safeParse(value);
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
    const isUnreadable =
      error instanceof SyntaxProblem || error instanceof SyntaxError || (error as NodeJS.ErrnoException).code;
    if (!isUnreadable) throw error;
    return null;
  }
}

const configuredCap: BlockCap = {
  blocks: 8,
  /** Set in "env" of the settings or in the environment. 0 disables the cap. */
  configured(hooked, env) {
    const pattern = new RegExp(`"${blockCap.name}"\\s*:\\s*"?(\\d+)`);
    const value = hooked.map(({ text }) => pattern.exec(text)?.[1]).find(Boolean) ?? env[blockCap.name];
    return value === undefined || value === '' ? undefined : Number(value) || Number.POSITIVE_INFINITY;
  },
  raise: (init) => `${init} --block-cap N (0: no limit)`,
};

export const doctor = createHookDoctor(hooks, {
  switches: readClaudeSwitches(program.folder),
  limits: { stopEvent: 'Stop', checkedEvent: 'PostToolBatch', timeoutUnitMs: 1_000, blockCap: configuredCap },
  dryTurn,
  checkHooked: async (hooked, { places }) => checkOtherPrograms(hooked, places),
  moreFiles: ({ cwd }) => [['local', join(cwd, '.claude', 'settings.local.json')]],
  findMore: (settings, places) => findClaudePlugin(settings, program.folder(places)),
});

// Sessions of older models have plan tools by default. Newer models have them only if a variable enables them; without
// them a worker has no plan. Tested with 2.1.332 by listing its tools under each setting
// (test/system/agents/claude-plan-tools.test.ts).

/** Models with plan tools by default. Names of providers and dates may surround the match. */
const modelsWithPlan = /claude-(?:3-|(?:opus|sonnet|haiku)-4-(?:[567]|20\d{6})(?!\d))/i;
/** Values that Claude Code reads as true. */
const onPattern = /^(?:1|true|yes|on)$/i;

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const ownSettingsSchema = z.object({
  model: z.string().optional().catch(undefined),
  env: z.record(z.string(), text.optional().catch(undefined)).optional().catch(undefined),
});

/** A value and a description of where it is set. */
type Found = { readonly value: string; readonly where: string };

/** Reads the local, project and user settings, and the environment. @param folder the folder of the user's settings */
export function readPlanTools({ cwd, env }: LocalContext, folder: string): PlanTools {
  const files = [
    join(cwd, '.claude', 'settings.local.json'),
    join(cwd, '.claude', 'settings.json'),
    join(folder, 'settings.json'),
  ].map((file) => ({ file, settings: ownSettingsSchema.safeParse(readJsonFile(file)).data ?? {} }));
  const variable = (name: string): Found | null =>
    // Settings override the environment.
    first(files.map(({ file, settings }) => found(settings.env?.[name], file))) ?? found(env[name], 'the environment');
  const { name } = planTools;
  const wanted = variable(name);
  if (wanted !== null && onPattern.test(wanted.value))
    return { state: 'on', variable: name, why: `${name}=${wanted.value} in ${wanted.where}` };
  const model =
    variable('ANTHROPIC_MODEL') ?? first(files.map(({ file, settings }) => found(settings.model, file))) ?? null;
  const resolved = model === null ? null : resolveAlias(model, variable);
  const why = model === null || resolved === null ? 'the default model' : `model ${resolved} by ${model.where}`;
  if (resolved !== null && modelsWithPlan.test(resolved)) return { state: 'on', variable: name, why };
  if (wanted === null) return { state: 'off', variable: name, why };
  return { state: 'refused', variable: name, why: `${why}, and ${name}=${wanted.value} in ${wanted.where}` };
}

/** An alias such as `opus` means the newest model of its kind, unless a variable names another. */
function resolveAlias({ value }: Found, variable: (name: string) => Found | null): string {
  const alias = /^(opus|sonnet|haiku)(?:\[\w+\])?$/i.exec(value)?.[1];
  const named = alias === undefined ? null : variable(`ANTHROPIC_DEFAULT_${alias.toUpperCase()}_MODEL`);
  return named?.value ?? value;
}

const first = (all: readonly (Found | null)[]): Found | null => all.find((value) => value !== null) ?? null;
const found = (value: string | undefined, where: string): Found | null =>
  value === undefined || value === '' ? null : { value, where };

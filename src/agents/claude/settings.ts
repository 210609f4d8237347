/**
 * Describes Claude Code to `init` and `doctor`: its settings, its plugin, and how a dry turn of it is run. Seen with
 * 2.1.330.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { z } from 'zod';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { Hooked } from '../doctor/hooked.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { type FakeModel, type ModelRequest, modelText, openFakeModel, sendEvents, sendJson } from '../doctor/models.ts';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { readHooks } from '../setup/hook-settings.ts';
import { SyntaxProblem } from '../setup/json-edit.ts';
import { formatCommand, formatUrl, formatWakeCommand, httpForms, isPosted, type Line } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/places.ts';
import { readText } from '../setup/settings-file.ts';
import { readSettings, receiverFor, type UsageSetup, usageVariables } from '../setup/usage.ts';
import { listEvents } from './events.ts';
import { hookCommand } from './hook-command.ts';
import { blockCap, planTools, readPlanTools } from './plan-tools.ts';

// Lets Claude Code send its events to the service's OTLP receiver. Seen with 2.1.330.

const variable = (name: string, valueFor: (line: Line) => string) => ({ name, mark: `STOPGATE_${name}`, valueFor });

const envSchema = z.object({ env: z.record(z.string(), z.unknown()) });

const usage: UsageSetup = {
  // Else a repository could send what its visitors do to anybody.
  scopes: ['user'],
  // Events alone: its metrics say the same once more. The prompts stay out of them, by its own default.
  settings: usageVariables([
    variable('CLAUDE_CODE_ENABLE_TELEMETRY', () => '1'),
    variable('OTEL_LOGS_EXPORTER', () => 'otlp'),
    variable('OTEL_EXPORTER_OTLP_LOGS_PROTOCOL', () => 'http/json'),
    variable('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT', (line) => receiverFor(line, '/v1/logs')),
  ]),
  environment: null,
  target({ env, home }) {
    const file = join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json');
    const set = { ...env, ...envSchema.safeParse(readSettings(file)).data?.env };
    if (set.CLAUDE_CODE_ENABLE_TELEMETRY === undefined || !String(set.OTEL_LOGS_EXPORTER).includes('otlp')) return null;
    const target = set.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT ?? set.OTEL_EXPORTER_OTLP_ENDPOINT;
    return typeof target === 'string' ? target : null;
  },
  inDollars: true,
};

const agent = 'claude';
/** A person may take a day to answer. */
const wakeSeconds = 24 * 60 * 60;

export const program: Program = {
  binary: 'claude',
  seen: '2.1.330',
  folder: ({ home, env }) => env.CLAUDE_CONFIG_DIR || join(home, '.claude'),
};

export const hooks: AgentHooks = {
  agent,
  forms: httpForms,
  scopes: ['project', 'user'],
  file: fileIn(['.claude', 'settings.json'], program.folder, ['settings.json']),
  events: listEvents,
  grouped: true,
  head: {},
  handler: (event, line) =>
    isPosted(line.form, event)
      ? { type: 'http', url: formatUrl(agent, event, line, false), ...headersFor(line), timeout: event.seconds }
      : { type: 'command', command: formatCommand({ agent, hook: hookCommand }, event, line), timeout: event.seconds },
  // `async` is needed too: without it, a run that takes no more input would wait for the hook.
  waker: (line) => [
    'Stop',
    {
      ...{ type: 'command', command: formatWakeCommand({ agent, hook: hookCommand }, line), timeout: wakeSeconds },
      ...{ async: true, asyncRewake: true },
    },
  ],
  // 0 is no cap.
  blockCap: { ...blockCap, least: 0, most: 999_999, valueFor: (blocks) => blocks },
  usage,
  planTools: { ...planTools, read: (places) => readPlanTools(places, program.folder(places)) },
  trust: null,
};

export const setup = createHookSetup(hooks, program);

const headersFor = ({ tokenEnv }: Line): object =>
  tokenEnv === undefined ? {} : { headers: { Authorization: `Bearer $${tokenEnv}` }, allowedEnvVars: [tokenEnv] };

/** A fake model with the API that Claude Code calls. Seen with 2.1.330. */
export const openMessagesModel = (): Promise<FakeModel> =>
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

/** Runs a turn of Claude Code with its own home folder. Seen with 2.1.330. */
export const dryTurn: DryTurn = {
  openModel: openMessagesModel,
  async prepare({ home, settings, model }) {
    const config = join(home, '.claude');
    mkdirSync(config);
    writeFileSync(join(config, 'settings.json'), settings);
    return {
      args: ['-p', 'Say hello.', '--output-format', 'json'],
      env: {
        ...{ ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'none', CLAUDE_CONFIG_DIR: config },
        ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', IS_SANDBOX: '1' },
      },
    };
  },
};

/** Finds our hooks in Claude Code's plugin: switched on in settings, and kept in a folder of its own. Seen with 2.1.330. */
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

/** The doctor checks this for Claude Code. */
const configuredCap: BlockCap = {
  blocks: 8,
  /** In "env" of its settings, or in the environment. 0: no cap. */
  configured(hooked, env) {
    const pattern = new RegExp(`"${blockCap.name}"\\s*:\\s*"?(\\d+)`);
    const value = hooked.map(({ text }) => pattern.exec(text)?.[1]).find(Boolean) ?? env[blockCap.name];
    return value === undefined || value === '' ? undefined : Number(value) || Number.POSITIVE_INFINITY;
  },
  raise: '--block-cap N (0: no cap)',
};

export const doctor = createHookDoctor(hooks, {
  limits: { stopEvent: 'Stop', checkedEvent: 'PostToolBatch', timeoutUnitMs: 1_000, blockCap: configuredCap },
  dryTurn,
  moreFiles: ({ cwd }) => [['local', join(cwd, '.claude', 'settings.local.json')]],
  findMore: (settings, places) => findClaudePlugin(settings, program.folder(places)),
});

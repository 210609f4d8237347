/** Describes Qwen Code to `init` and `doctor`: its settings, and how a dry turn of it is run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { openChatCompletionsModel } from '../doctor/models.ts';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { checkSeconds, type HookEvent, stopEvents, stopSeconds, storedEvents } from '../setup/hook-events.ts';
import { type Form, formatCommand, formatUrl, httpForms, isPosted, type Line } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/places.ts';
import { telemetryUsage } from '../setup/usage.ts';
import { hookCommand } from './hook-command.ts';

const agent = 'qwen';
/** The block that makes up this number is not obeyed any more. It takes no larger one. */
export const capMax = 100;
export const blockCap = { name: 'QWEN_CODE_STOP_HOOK_BLOCK_CAP', mark: 'STOPGATE_BLOCK_CAP' } as const;

export const program: Program = {
  binary: 'qwen',
  seen: '0.24.4',
  folder: ({ home, env }) => env.QWEN_HOME || join(home, '.qwen'),
};

const file = fileIn(['.qwen', 'settings.json'], program.folder, ['settings.json']);

export const hooks: AgentHooks = {
  agent,
  forms: httpForms,
  scopes: ['project', 'user'],
  file,
  events: listEvents,
  grouped: true,
  head: {},
  handler: (event, line) => ({
    ...(isPosted(line.form, event)
      ? { type: 'http', name: 'stopgate', url: formatUrl(agent, event, line, false), ...headersFor(line) }
      : { type: 'command', name: 'stopgate', command: formatCommand({ agent, hook: hookCommand }, event, line) }),
    // In seconds, below 1,000: a command's timeout is read as milliseconds from there on.
    timeout: event.seconds,
  }),
  blockCap: { ...blockCap, least: 1, most: capMax - 1, valueFor: (blocks) => blocks + 1 },
  usage: telemetryUsage({ agent, prefix: 'QWEN', file }),
  trust: null,
};

export const setup = createHookSetup(hooks, program);

function listEvents(form: Form): HookEvent[] {
  return [
    ...storedEvents('SessionStart', 'UserPromptSubmit'),
    // Asks before structured output is accepted. For other tools, the hook command gives up much earlier.
    { name: 'PreToolUse', isStop: false, seconds: form === 'command' ? stopSeconds : checkSeconds },
    // May be held for an operator's answer (`ask`).
    { name: 'PermissionRequest', isStop: false, seconds: stopSeconds },
    ...storedEvents('PostToolUse', 'PostToolUseFailure', 'StopFailure'),
    ...stopEvents('TodoCompleted', 'SubagentStop', 'Stop'),
    ...storedEvents('SubagentStart', 'SessionEnd'),
  ];
}

const headersFor = ({ tokenEnv }: Line): object =>
  tokenEnv === undefined ? {} : { headers: { Authorization: `Bearer \${${tokenEnv}}` }, allowedEnvVars: [tokenEnv] };

/** Runs a turn of Qwen Code with its own home folder. Seen with 0.24.4. */
const own = {
  security: { auth: { selectedType: 'openai' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
};

export const dryTurn: DryTurn = {
  openModel: openChatCompletionsModel,
  async prepare({ home, settings, model }) {
    const folder = join(home, '.qwen');
    mkdirSync(folder);
    const hooks = JSON.parse(settings) as object;
    writeFileSync(join(folder, 'settings.json'), JSON.stringify({ ...own, ...hooks }));
    return {
      args: ['-p', 'Say hello.', '--output-format', 'json'],
      env: { OPENAI_BASE_URL: `${model}/v1`, OPENAI_API_KEY: 'none', OPENAI_MODEL: 'fake' },
    };
  },
};

/** The doctor checks this for Qwen Code. */
const configuredCap: BlockCap = {
  /** The eighth is not obeyed. */
  blocks: 7,
  raise: '--block-cap N',
  /** In the environment, in "env" of its settings, or as a setting of its own, in this order. */
  configured(hooked, env) {
    const setIn = (key: string) =>
      hooked.map(({ text }) => new RegExp(`"${key}"\\s*:\\s*"?(\\d+)`).exec(text)?.[1]).find(Boolean);
    const cap = Number(env[blockCap.name] || setIn(blockCap.name) || setIn('stopHookBlockingCap'));
    return cap >= 1 ? Math.min(cap, capMax) - 1 : undefined;
  },
};

export const doctor = createHookDoctor(hooks, {
  // A batch of tools that is told to stop only gets an error, so nothing checks after one.
  limits: { stopEvent: 'Stop', checkedEvent: null, timeoutUnitMs: 1_000, blockCap: configuredCap },
  dryTurn,
});

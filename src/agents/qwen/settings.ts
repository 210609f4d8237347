/** Describes Qwen Code to `init` and `doctor`: its settings, and how a dry turn of it is run. */
import { join } from 'node:path';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { openChatCompletionsModel } from '../doctor/models.ts';
import { readQwenSwitches } from '../doctor/switches.ts';
import { type AgentHooks, createHookSetup, postOrRun } from '../setup/agent-hooks.ts';
import { checkSeconds, type HookEvent, stopEvents, stopSeconds, storedEvents } from '../setup/hook-events.ts';
import { type Form, httpForms } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/places.ts';
import { telemetryUsage } from '../setup/usage.ts';
import { hookCommand } from './hook-command.ts';

const agent = 'qwen';
/** The block that makes up this number is not obeyed any more. It takes no larger one. */
const capMax = 100;
const blockCap = { name: 'QWEN_CODE_STOP_HOOK_BLOCK_CAP', mark: 'STOPGATE_BLOCK_CAP' } as const;

const program: Program = {
  binary: 'qwen',
  seen: '0.24.4',
  folder: ({ home, env }) => env.QWEN_HOME || join(home, '.qwen'),
};

const file = fileIn(['.qwen', 'settings.json'], program.folder, ['settings.json']);

const hooks: AgentHooks = {
  agent,
  hook: hookCommand,
  program,
  forms: httpForms,
  scopes: ['project', 'user'],
  file,
  events: listEvents,
  grouped: true,
  // Its timeout is in seconds, below 1,000: that of a command is read as milliseconds from there on.
  handler: (event, line, command) =>
    postOrRun(agent, event, line, command, (name) => `\${${name}}`, { name: 'stopgate' }),
  blockCap: { ...blockCap, least: 1, most: capMax - 1, valueFor: (blocks) => blocks + 1 },
  usage: telemetryUsage({ agent, prefix: 'QWEN', file }),
};

export const setup = createHookSetup(hooks);

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

/** Runs a turn of Qwen Code with its own home folder. Seen with 0.24.4. */
const own = {
  security: { auth: { selectedType: 'openai' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
};

const dryTurn: DryTurn = {
  openModel: openChatCompletionsModel,
  async prepare({ home, settings, model, write }) {
    write(join(home, '.qwen', 'settings.json'), JSON.stringify({ ...own, ...(JSON.parse(settings) as object) }));
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
  switches: readQwenSwitches(program.folder),
  // A batch of tools that is told to stop only gets an error, so nothing checks after one.
  limits: { stopEvent: 'Stop', checkedEvent: null, timeoutUnitMs: 1_000, blockCap: configuredCap },
  dryTurn,
});

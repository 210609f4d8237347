/** Qwen Code for `init` and `doctor`: settings and dry turn. Tested with 0.24.4. */
import { join } from 'node:path';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { openChatCompletionsModel } from '../doctor/models.ts';
import { type AgentHooks, createHookSetup, httpOrCommandHandler } from '../setup/agent-hooks.ts';
import { checkSeconds, type HookEvent, stopEvents, stopSeconds, storedEvents } from '../setup/hook-events.ts';
import { type Form, httpForms } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/local-context.ts';
import { telemetryUsage } from '../setup/usage.ts';
import { hookCommand } from './hook-command.ts';
import { readQwenSwitches } from './switches.ts';

const agent = 'qwen';
/** The largest value of the variable. Qwen Code ignores the block that reaches the value. */
const capMax = 100;
const blockCap = { name: 'QWEN_CODE_STOP_HOOK_BLOCK_CAP', mark: 'STOPGATE_BLOCK_CAP' } as const;

const program: Program = {
  binary: 'qwen',
  testedVersion: '0.24.4',
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
  // Timeouts are in seconds. For commands, values of 1,000 or more would be read as milliseconds.
  handler: (event, line, command) =>
    httpOrCommandHandler(agent, event, line, command, (name) => `\${${name}}`, { name: 'stopgate' }),
  blockCap: { ...blockCap, least: 1, most: capMax - 1, valueFor: (blocks) => blocks + 1 },
  usage: telemetryUsage({ agent, prefix: 'QWEN', file }),
};

export const setup = createHookSetup(hooks);

function listEvents(form: Form): HookEvent[] {
  return [
    ...storedEvents('SessionStart', 'UserPromptSubmit'),
    // Judges structured output before it is accepted. For other tools, the hook command gives up much earlier.
    { name: 'PreToolUse', isStop: false, seconds: form === 'command' ? stopSeconds : checkSeconds },
    // May be held for an operator's answer (`ask`).
    { name: 'PermissionRequest', isStop: false, seconds: stopSeconds },
    ...storedEvents('PostToolUse', 'PostToolUseFailure', 'StopFailure'),
    ...stopEvents('TodoCompleted', 'SubagentStop', 'Stop'),
    ...storedEvents('SubagentStart', 'SessionEnd'),
  ];
}

const baseSettings = {
  security: { auth: { selectedType: 'openai' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
};

const dryTurn: DryTurn = {
  openModel: openChatCompletionsModel,
  async prepare({ home, settings, model, write }) {
    write(
      join(home, '.qwen', 'settings.json'),
      JSON.stringify({ ...baseSettings, ...(JSON.parse(settings) as object) }),
    );
    return {
      args: ['-p', 'Say hello.', '--output-format', 'json'],
      env: { OPENAI_BASE_URL: `${model}/v1`, OPENAI_API_KEY: 'none', OPENAI_MODEL: 'fake' },
    };
  },
};

const configuredCap: BlockCap = {
  /** Qwen Code ignores the eighth. */
  blocks: 7,
  raise: (init) => `${init} --block-cap N`,
  /** Set in the environment, in "env" of the settings, or as a setting, in this order of precedence. */
  configured(hooked, env) {
    const setIn = (key: string) =>
      hooked.map(({ text }) => new RegExp(`"${key}"\\s*:\\s*"?(\\d+)`).exec(text)?.[1]).find(Boolean);
    const cap = Number(env[blockCap.name] || setIn(blockCap.name) || setIn('stopHookBlockingCap'));
    return cap >= 1 ? Math.min(cap, capMax) - 1 : undefined;
  },
};

export const doctor = createHookDoctor(hooks, {
  switches: readQwenSwitches(program.folder),
  // Qwen Code turns a stop after tools into a tool error, so there is no checked event.
  limits: { stopEvent: 'Stop', checkedEvent: null, timeoutUnitMs: 1_000, blockCap: configuredCap },
  dryTurn,
});

/** Qwen Code's hooks in its settings. Seen with 0.24.4. */
import { join } from 'node:path';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { checkSeconds, type HookEvent, stopEvents, stopSeconds, storedEvents } from '../setup/hook-events.ts';
import { type Form, formatCommand, formatUrl, httpForms, isPosted, type Line } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/places.ts';
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

export const hooks: AgentHooks = {
  agent,
  forms: httpForms,
  scopes: ['project', 'user'],
  file: fileIn(['.qwen', 'settings.json'], program.folder, ['settings.json']),
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

/** Claude Code's hooks in its settings. Seen with 2.1.330. */
import { join } from 'node:path';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { formatCommand, formatUrl, formatWakeCommand, httpForms, isPosted, type Line } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/places.ts';
import { listEvents } from './events.ts';
import { hookCommand } from './hook-command.ts';
import { readPlanTools } from './plan-tools.ts';
import { blockCap, planTools } from './variables.ts';

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
  planTools: { ...planTools, read: (places) => readPlanTools(places, program.folder(places)) },
  trust: null,
};

export const setup = createHookSetup(hooks, program);

const headersFor = ({ tokenEnv }: Line): object =>
  tokenEnv === undefined ? {} : { headers: { Authorization: `Bearer $${tokenEnv}` }, allowedEnvVars: [tokenEnv] };

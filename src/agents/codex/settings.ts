/** Codex's hooks in its hooks.json. Seen with 0.169.0. */
import { join } from 'node:path';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { stopEvents, stopSeconds, storedEvents } from '../setup/hook-events.ts';
import { commandForms, formatCommand } from '../setup/line.ts';
import type { Program } from '../setup/places.ts';
import { hookCommand } from './hook-command.ts';
import { trust } from './trust-setup.ts';

const agent = 'codex';

export const program: Program = {
  binary: 'codex',
  seen: '0.169.0',
  folder: ({ home, env }) => env.CODEX_HOME || join(home, '.codex'),
};

export const hooks: AgentHooks = {
  agent,
  forms: commandForms,
  scopes: ['user'],
  file: (_scope, places) => join(program.folder(places), 'hooks.json'),
  events: () => [
    ...storedEvents('SessionStart', 'UserPromptSubmit', 'PostToolUse', 'SubagentStart'),
    // May be held for an operator's answer (`ask`).
    { name: 'PermissionRequest', isStop: false, seconds: stopSeconds },
    // Codex allows no more here, and warns in every session if the settings ask for more.
    { name: 'SessionEnd', isStop: false, seconds: 3 },
    ...stopEvents('SubagentStop', 'Stop'),
  ],
  grouped: true,
  head: {},
  handler: (event, line) => ({
    type: 'command',
    command: formatCommand({ agent, hook: hookCommand }, event, line),
    timeout: event.seconds,
  }),
  trust,
};

export const setup = createHookSetup(hooks, program);

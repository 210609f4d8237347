/** Cursor's hooks in its hooks.json. Written from its documentation. */
import { join } from 'node:path';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { stopEvents, storedEvents } from '../setup/hook-events.ts';
import { commandForms, formatCommand } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/places.ts';
import { hookCommand } from './hook-command.ts';

const agent = 'cursor';

export const program: Program = {
  binary: 'cursor-agent',
  seen: null,
  folder: ({ home }) => join(home, '.cursor'),
};

export const hooks: AgentHooks = {
  agent,
  forms: commandForms,
  scopes: ['project', 'user'],
  file: fileIn(['.cursor', 'hooks.json'], program.folder, ['hooks.json']),
  events: () => [
    ...storedEvents('beforeSubmitPrompt', 'postToolUse', 'afterFileEdit', 'sessionEnd'),
    ...stopEvents('stop'),
  ],
  grouped: false,
  head: { version: 1 },
  handler: (event, line) => ({
    command: formatCommand({ agent, hook: hookCommand }, event, line, `--event ${event.name}`),
  }),
  trust: null,
};

export const setup = createHookSetup(hooks, program);

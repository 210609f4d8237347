/** Gemini CLI's hooks in its settings. Seen with 0.61.0. */
import { join } from 'node:path';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { checkedEvents, stopEvents, storedEvents } from '../setup/hook-events.ts';
import { commandForms, formatCommand } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/places.ts';
import { hookCommand } from './hook-command.ts';

const agent = 'gemini';

export const program: Program = {
  binary: 'gemini',
  seen: '0.61.0',
  folder: ({ home }) => join(home, '.gemini'),
};

export const hooks: AgentHooks = {
  agent,
  forms: commandForms,
  scopes: ['project', 'user'],
  file: fileIn(['.gemini', 'settings.json'], program.folder, ['settings.json']),
  events: () => [
    ...storedEvents('SessionStart', 'BeforeAgent'),
    ...checkedEvents('AfterTool'),
    ...storedEvents('Notification', 'SessionEnd'),
    ...stopEvents('AfterAgent'),
  ],
  grouped: true,
  head: {},
  handler: (event, line) => ({
    ...{ type: 'command', name: 'stopgate' },
    command: withGuard(formatCommand({ agent, hook: hookCommand }, event, line)),
    timeout: event.seconds * 1_000,
  }),
  trust: null,
};

export const setup = createHookSetup(hooks, program);

/** A hook that is missing or crashes blocks Gemini for ever. So whatever happens, the line ends in an allow. */
const withGuard = (command: string): string => (command.endsWith('|| exit 0') ? command : `${command} || exit 0`);

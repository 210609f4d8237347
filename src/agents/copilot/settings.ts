/** Copilot CLI's hooks, in a file of their own. Seen with 1.0.102. */
import { join } from 'node:path';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { marginSeconds, stopEvents, storedEvents } from '../setup/hook-events.ts';
import { commandForms, formatCommand } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/places.ts';
import { hookCommand } from './hook-command.ts';

const agent = 'copilot';

export const program: Program = {
  binary: 'copilot',
  seen: '1.0.102',
  folder: ({ home }) => join(home, '.copilot'),
};

export const hooks: AgentHooks = {
  agent,
  forms: commandForms,
  scopes: ['project', 'user'],
  file: fileIn(['.github', 'hooks', 'stopgate.json'], program.folder, ['hooks', 'stopgate.json']),
  // With these names, and not the PascalCase ones, a sub-agent's call is known to name the sub-agent.
  events: () => [
    ...storedEvents(
      ...['sessionStart', 'userPromptSubmitted', 'postToolUse', 'notification', 'subagentStart', 'sessionEnd'],
    ),
    ...stopEvents('agentStop', 'subagentStop'),
  ],
  grouped: false,
  head: { version: 1 },
  handler: (event, line) => {
    const timeout = event.isStop ? ` --timeout ${event.seconds - marginSeconds}s` : '';
    const bash = formatCommand({ agent, hook: hookCommand }, event, line, `--event ${event.name}${timeout}`);
    return { type: 'command', bash, timeoutSec: event.seconds };
  },
  trust: null,
};

export const setup = createHookSetup(hooks, program);

/** Cursor for `init` and `doctor`. Based on its documentation. */
import { join } from 'node:path';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { type AgentHooks, createHookSetup } from '../setup/agent-hooks.ts';
import { stopEvents, storedEvents } from '../setup/hook-events.ts';
import { commandForms } from '../setup/line.ts';
import { fileIn, type Program } from '../setup/local-context.ts';
import { hookCommand } from './hook-command.ts';
import { readCursorSwitches } from './switches.ts';

const program: Program = {
  binary: 'cursor-agent',
  testedVersion: null,
  folder: ({ home }) => join(home, '.cursor'),
};

const hooks: AgentHooks = {
  agent: 'cursor',
  hook: hookCommand,
  program,
  forms: commandForms,
  scopes: ['project', 'user'],
  file: fileIn(['.cursor', 'hooks.json'], program.folder, ['hooks.json']),
  events: () => [
    ...storedEvents('beforeSubmitPrompt', 'postToolUse', 'afterFileEdit', 'sessionEnd'),
    ...stopEvents('stop'),
  ],
  grouped: false,
  head: { version: 1 },
  handler: ({ name }, _line, command) => ({ command: command(`--event ${name}`) }),
};

export const setup = createHookSetup(hooks);

const stopEvent = 'stop';

const blockCap: BlockCap = {
  blocks: 5,
  /** The stop hook's `loop_limit`. Null in the settings disables the cap. */
  configured(hooked) {
    const limit = hooked.flatMap(({ hooks: ours }) => ours).find(({ event }) => event === stopEvent)?.value.loop_limit;
    return limit === null ? Number.POSITIVE_INFINITY : typeof limit === 'number' ? limit : undefined;
  },
  raise: () => 'raise "loop_limit" of the stop hook in its settings',
};

export const doctor = createHookDoctor(hooks, {
  switches: readCursorSwitches,
  limits: { stopEvent, checkedEvent: null, timeoutUnitMs: null, blockCap },
  dryTurn: null,
});

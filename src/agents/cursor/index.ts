/** All that stopgate knows of Cursor. */
import type { Agent } from '../agent.ts';
import { createHookSetup } from '../setup/agent-hooks.ts';
import { readCursorHook } from './adapter.ts';
import { capabilities } from './capabilities.ts';
import { doctor } from './doctor.ts';
import { hookCommand } from './hook-command.ts';
import { hooks, program } from './settings.ts';

export const cursor: Agent = {
  name: 'cursor',
  title: 'Cursor',
  program,
  readHook: readCursorHook,
  hookCommand,
  setup: createHookSetup(hooks),
  doctor,
  // Only documented.
  resume: (session, prompt) => ['cursor-agent', '--resume', session, prompt],
  promptsResolution: false,
  capabilities,
};

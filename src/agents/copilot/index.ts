/** All that stopgate knows of Copilot CLI. */
import type { Agent } from '../agent.ts';
import { createHookSetup } from '../setup/agent-hooks.ts';
import { readCopilotHook } from './adapter.ts';
import { capabilities } from './capabilities.ts';
import { doctor } from './doctor.ts';
import { hookCommand } from './hook-command.ts';
import { hooks, program } from './settings.ts';

export const copilot: Agent = {
  name: 'copilot',
  title: 'Copilot CLI',
  program,
  readHook: readCopilotHook,
  hookCommand,
  setup: createHookSetup(hooks),
  doctor,
  resume: (session, prompt) => ['copilot', `--resume=${session}`, '--prompt', prompt],
  promptsResolution: false,
  capabilities,
};

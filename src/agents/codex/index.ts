/** All that stopgate knows of Codex. */
import type { Agent } from '../agent.ts';
import { createHookSetup } from '../setup/agent-hooks.ts';
import { readCodexHook } from './adapter.ts';
import { capabilities } from './capabilities.ts';
import { doctor } from './doctor.ts';
import { hookCommand } from './hook-command.ts';
import { hooks, program } from './settings.ts';

export const codex: Agent = {
  name: 'codex',
  title: 'Codex',
  program,
  readHook: readCodexHook,
  hookCommand,
  setup: createHookSetup(hooks),
  doctor,
  resume: (session, prompt) => ['codex', 'exec', 'resume', session, prompt],
  promptsResolution: false,
  capabilities,
};

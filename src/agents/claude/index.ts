/** All that stopgate knows of Claude Code. */
import type { Agent } from '../agent.ts';
import { createHookSetup } from '../setup/agent-hooks.ts';
import { readClaudeHook } from './adapter.ts';
import { capabilities } from './capabilities.ts';
import { doctor } from './doctor.ts';
import { hookCommand } from './hook-command.ts';
import { hooks, program } from './settings.ts';

export const claude: Agent = {
  name: 'claude',
  title: 'Claude Code',
  program,
  readHook: readClaudeHook,
  hookCommand,
  setup: createHookSetup(hooks),
  doctor,
  resume: (session, prompt) => ['claude', '--resume', session, prompt],
  promptsResolution: false,
  capabilities,
};

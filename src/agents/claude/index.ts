/** Everything that stopgate knows about Claude Code. */
import type { Agent } from '../agent.ts';
import { readClaudeHook } from './adapter.ts';
import { hookCommand } from './hook-command.ts';

export const claude: Agent = {
  name: 'claude',
  title: 'Claude Code',
  readHook: readClaudeHook,
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: async () => (await import('./settings.ts')).doctor,
  hasDryTurn: true,
  resume: (session, prompt) => ['claude', '--resume', session, prompt],
  promptsResolution: false,
};

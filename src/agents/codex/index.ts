/** Everything that stopgate knows about Codex. */
import type { Agent } from '../agent.ts';
import { readCodexHook } from './adapter.ts';
import { hookCommand } from './hook-command.ts';

export const codex: Agent = {
  name: 'codex',
  title: 'Codex',
  readHook: readCodexHook,
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: async () => (await import('./settings.ts')).doctor,
  hasDryTurn: true,
  resume: (session, prompt) => ['codex', 'exec', 'resume', session, prompt],
  promptsResolution: false,
};

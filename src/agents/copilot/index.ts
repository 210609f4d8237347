/** Everything that stopgate knows about Copilot CLI. */
import type { Agent } from '../agent.ts';
import { readCopilotHook } from './adapter.ts';
import { hookCommand } from './hook-command.ts';

export const copilot: Agent = {
  name: 'copilot',
  title: 'Copilot CLI',
  readHook: readCopilotHook,
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: async () => (await import('./settings.ts')).doctor,
  hasDryTurn: true,
  resume: (session, prompt) => ['copilot', `--resume=${session}`, '--prompt', prompt],
  promptsResolution: false,
};

/** Everything that stopgate knows about Qwen Code. */
import type { Agent } from '../agent.ts';
import { readQwenHook, title } from './adapter.ts';
import { hookCommand } from './hook-command.ts';

export const qwen: Agent = {
  name: 'qwen',
  title,
  readHook: readQwenHook,
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: async () => (await import('./settings.ts')).doctor,
  hasDryTurn: true,
  resume: (session, prompt) => ['qwen', '--resume', session, '--prompt-interactive', prompt],
  promptsResolution: false,
};

/** Everything that stopgate knows about Gemini CLI. */
import type { Agent } from '../agent.ts';
import { readGeminiHook } from './adapter.ts';
import { hookCommand } from './hook-command.ts';

export const gemini: Agent = {
  name: 'gemini',
  title: 'Gemini CLI',
  readHook: readGeminiHook,
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: async () => (await import('./settings.ts')).doctor,
  hasDryTurn: true,
  resume: (session, prompt) => ['gemini', '--resume', session, prompt],
  promptsResolution: false,
};

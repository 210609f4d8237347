/** Everything that stopgate knows about OpenCode. */
import type { Agent } from '../agent.ts';
import { readOpencodeHook } from './adapter.ts';
import { hookCommand } from './hook-command.ts';

export const opencode: Agent = {
  name: 'opencode',
  title: 'OpenCode',
  readHook: readOpencodeHook,
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: async () => (await import('./settings.ts')).doctor,
  hasDryTurn: true,
  resume: (session, prompt) => ['opencode', 'run', '--session', session, prompt],
  promptsResolution: true,
};

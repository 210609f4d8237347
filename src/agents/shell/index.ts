/** Everything that stopgate knows about a script, or any other tool that can run a command. */
import type { Agent } from '../agent.ts';
import { readShellHook } from './adapter.ts';
import { hookCommand } from './hook-command.ts';

export const shell: Agent = {
  name: 'shell',
  title: 'a script',
  readHook: readShellHook,
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: null,
  hasDryTurn: false,
  resume: null,
  promptsResolution: false,
};

/** Everything that stopgate knows about Cursor. */
import type { Agent } from '../agent.ts';
import { readCursorHook } from './adapter.ts';
import { hookCommand } from './hook-command.ts';

export const cursor: Agent = {
  name: 'cursor',
  title: 'Cursor',
  readHook: readCursorHook,
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: async () => (await import('./settings.ts')).doctor,
  hasDryTurn: false,
  // Only documented.
  resume: (session, prompt) => ['cursor-agent', '--resume', session, prompt],
  promptsResolution: false,
};

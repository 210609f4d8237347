/** All that stopgate knows of a script, or any other tool that can run a command. */
import type { Agent } from '../agent.ts';
import { readShellHook } from './adapter.ts';
import { capabilities } from './capabilities.ts';
import { hookCommand } from './hook-command.ts';
import { setup } from './settings.ts';

export const shell: Agent = {
  name: 'shell',
  title: 'a script',
  program: null,
  readHook: readShellHook,
  hookCommand,
  setup,
  doctor: null,
  resume: null,
  promptsResolution: false,
  capabilities,
};

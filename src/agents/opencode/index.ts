/** All that stopgate knows of OpenCode. */
import type { Agent } from '../agent.ts';
import { readOpencodeHook } from './adapter.ts';
import { capabilities } from './capabilities.ts';
import { doctor } from './doctor.ts';
import { hookCommand } from './hook-command.ts';
import { program, setup } from './settings.ts';

export const opencode: Agent = {
  name: 'opencode',
  title: 'OpenCode',
  program,
  readHook: readOpencodeHook,
  hookCommand,
  setup,
  doctor,
  resume: (session, prompt) => ['opencode', 'run', '--session', session, prompt],
  promptsResolution: true,
  capabilities,
};

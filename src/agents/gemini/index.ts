/** All that stopgate knows of Gemini CLI. */
import type { Agent } from '../agent.ts';
import { createHookSetup } from '../setup/agent-hooks.ts';
import { readGeminiHook } from './adapter.ts';
import { capabilities } from './capabilities.ts';
import { doctor } from './doctor.ts';
import { hookCommand } from './hook-command.ts';
import { hooks, program } from './settings.ts';

export const gemini: Agent = {
  name: 'gemini',
  title: 'Gemini CLI',
  program,
  readHook: readGeminiHook,
  hookCommand,
  setup: createHookSetup(hooks),
  doctor,
  resume: (session, prompt) => ['gemini', '--resume', session, prompt],
  promptsResolution: false,
  capabilities,
};

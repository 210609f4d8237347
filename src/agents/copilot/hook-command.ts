/** Copilot CLI for the hook command. Loaded at every call, so keep the imports minimal. */
import { type HookAgent, oneOf, withoutNote } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  // Copilot waits 30 s by default. `init` writes longer timeouts into the settings and the command.
  stopTimeoutMs: 28_000,
  isStop: oneOf('agentStop', 'subagentStop', 'Stop', 'SubagentStop'),
  ...withoutNote,
};

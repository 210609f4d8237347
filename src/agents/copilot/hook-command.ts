/** Describes Copilot CLI to the hook command. It is loaded at each call, so it imports nothing more. */
import { type HookAgent, oneOf, withoutNote } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  // Copilot waits 30 s by default. `init` writes longer timeouts into both the settings and the line.
  stopTimeoutMs: 28_000,
  isStop: oneOf('agentStop', 'subagentStop', 'Stop', 'SubagentStop'),
  ...withoutNote,
};

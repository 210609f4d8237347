/** Codex for the hook command. Loaded at every call, so keep the imports minimal. */
import { type HookAgent, oneOf, withSystemMessage } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: oneOf('Stop', 'SubagentStop'),
  isHeld: oneOf('PermissionRequest'),
  ...withSystemMessage,
};

/** Describes Codex to the hook command. It is loaded at each call, so it imports nothing more. */
import { type HookAgent, oneOf, withSystemMessage } from '../../hook-command/agent.ts';

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: oneOf('Stop', 'SubagentStop'),
  isHeld: oneOf('PermissionRequest'),
  ...withSystemMessage,
};

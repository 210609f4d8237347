/** Describes Qwen Code to the hook command. It is loaded at each call, so it imports nothing more. */
import { type HookAgent, oneOf, withSystemMessage } from '../../hook-command/agent.ts';

const isStopEvent = oneOf('Stop', 'SubagentStop', 'TodoCompleted');

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: (event, tool) => isStopEvent(event) || (event === 'PreToolUse' && tool === 'structured_output'),
  isHeld: oneOf('PermissionRequest'),
  ...withSystemMessage,
};

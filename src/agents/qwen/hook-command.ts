/** Qwen Code for the hook command. Loaded at every call, so keep the imports minimal. */
import { type HookAgent, oneOf, withSystemMessage } from '../../hook-command/agent.ts';

const isStopEvent = oneOf('Stop', 'SubagentStop', 'TodoCompleted');

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: (event, tool) => isStopEvent(event) || (event === 'PreToolUse' && tool === 'structured_output'),
  isHeld: oneOf('PermissionRequest'),
  ...withSystemMessage,
};

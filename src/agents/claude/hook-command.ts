/** Claude Code for the hook command. Loaded at every call, so keep the imports minimal. */
import { type HookAgent, oneOf, withSystemMessage } from '../../hook-command/agent.ts';

/** `stop` and `subagentStop` are Cursor's names, which runs these hooks too. */
const isStopEvent = oneOf('Stop', 'SubagentStop', 'TaskCompleted', 'stop', 'subagentStop');

export const hookCommand: HookAgent = {
  stopTimeoutMs: 595_000,
  isStop: (event, tool) => isStopEvent(event) || (event === 'PreToolUse' && tool === 'StructuredOutput'),
  isChecked: oneOf('PostToolBatch'),
  isHeld: oneOf('PermissionRequest'),
  ...withSystemMessage,
  wake: {
    sessionOf: ({ session_id }) => session_id,
    promptCall: ({ session_id, cwd }, prompt) => ({ hook_event_name: 'UserPromptSubmit', session_id, cwd, prompt }),
    textOf: ({ hookSpecificOutput: output }) =>
      (output as { additionalContext?: string } | undefined)?.additionalContext ?? null,
  },
};

/** Plays recorded hook calls of Claude Code as one session, answered by a fleet in memory. */
import { expect } from 'vitest';
import { type AgentFleet, createAgentFleet } from '../unit/agents/agent-fleet.ts';
import { recorded } from '../unit/agents/recordings/claude.ts';

export const session = 'session-1';

/** The answer to a stop that keeps a current version of Claude Code at work, with a part of its prompt. */
export const continues = (prompt = '') => ({
  hookSpecificOutput: { hookEventName: 'Stop', additionalContext: expect.stringContaining(prompt) },
});

export type ClaudeFleet = AgentFleet & {
  /** Plays a recorded call of the session. Resolves to the JSON answer, or null if it is empty. */
  claude(recording: string, changes?: object): Promise<object | null>;
  /** Gives the plan step `Write the tests` this status. */
  mark(status: string): Promise<object | null>;
};

export function createClaudeFleet(policy: object, more?: Record<string, unknown>): ClaudeFleet {
  const fleet = createAgentFleet(policy, more);
  const claude: ClaudeFleet['claude'] = (recording, changes = {}) =>
    fleet.call('claude', { ...recorded(recording), session_id: session, ...changes });
  return {
    ...fleet,
    claude,
    mark: (status) =>
      claude('PostToolUse.TaskList', { tool_response: { tasks: [{ id: '1', subject: 'Write the tests', status }] } }),
  };
}

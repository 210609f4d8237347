/**
 * One Claude Code session from its prompt to its end, in order: two steps are planned, one is done, the stop is
 * blocked, the other is done, the stop is allowed. Made from the recordings, with a single session id.
 */
import { type Recording, recorded } from './recordings/claude.ts';

export const claudeSessionId = '728320da-d8ad-44aa-8e9c-2d308f5dbd24';

/** `answer` is the answer of a policy with `checks: [{ plan: {} }]`; null is an empty 204. */
export type SessionCall = { readonly body: Recording; readonly answer: 'block' | null };

export const claudeSession: readonly SessionCall[] = [
  call('UserPromptSubmit'),
  call('PreToolUse', { ...planned('Write the tests'), tool_use_id: 'toolu_fake_1_0' }),
  call('PostToolUse.TaskCreate', created('1', 'Write the tests')),
  call('PreToolUse', { ...planned('Fix the lint'), tool_use_id: 'toolu_fake_2_0' }),
  call('PostToolUse.TaskCreate', created('2', 'Fix the lint')),
  call('PostToolUse.TaskUpdate.in_progress', { tool_use_id: 'toolu_fake_3_0' }),
  call('PostToolUse', { tool_use_id: 'toolu_fake_4_0' }),
  call('PostToolUse.TaskUpdate.completed', { tool_use_id: 'toolu_fake_5_0' }),
  call('Stop', {}, 'block'),
  call('PostToolUse.TaskUpdate.completed', { ...updated('2', 'pending', 'completed'), tool_use_id: 'toolu_fake_6_0' }),
  call('Stop.second'),
  call('SessionEnd'),
];

function call(name: string, changes: object = {}, answer: SessionCall['answer'] = null): SessionCall {
  const ids = {
    session_id: claudeSessionId,
    transcript_path: `/home/user/.claude/projects/-workspace-project/${claudeSessionId}.jsonl`,
    prompt_id: '6a5c2a33-9581-46a1-b562-2ccb9a578ac6',
  };
  return { body: { ...recorded(name), ...ids, ...changes }, answer };
}

function planned(subject: string): object {
  return { tool_name: 'TaskCreate', tool_input: { subject, description: subject } };
}

function created(id: string, subject: string): object {
  const tool_use_id = `toolu_fake_${id}_0`;
  return { ...planned(subject), tool_response: { task: { id, subject } }, tool_use_id };
}

function updated(taskId: string, from: string, to: string): object {
  return {
    tool_input: { taskId, status: to },
    tool_response: { success: true, taskId, updatedFields: ['status'], statusChange: { from, to } },
  };
}

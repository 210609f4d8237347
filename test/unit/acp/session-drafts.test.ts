/** Session updates show which command of a tool ran, and how it ended. */
import { expect, test } from 'vitest';
import { createSessionDrafts } from '../../../src/acp/session-drafts.ts';

const used = (end: object) => {
  const drafts = createSessionDrafts('s1');
  drafts.start({ agent: 'agent', cwd: '/workspace/project', policy: undefined, mode: undefined });
  const call = { toolCallId: 'c1', kind: 'execute', rawInput: { command: 'npm test' } };
  drafts.update({ sessionUpdate: 'tool_call', ...call, status: 'in_progress' } as never);
  const entries = drafts.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', ...end } as never);
  return entries.find(({ type }) => type === 'tool.used')?.data;
};

test.each<readonly [what: string, end: object, shown: object]>([
  ['ended', { status: 'completed' }, { ok: true, command: 'npm test' }],
  ['ended with 0', { status: 'completed', rawOutput: { exit_code: 0 } }, { ok: true, command: 'npm test' }],
  ['ended with 1', { status: 'completed', rawOutput: { exit_code: 1 } }, { ok: false, command: 'npm test' }],
  ['failed', { status: 'failed' }, { ok: false, command: 'npm test' }],
  ['was killed', { status: 'completed', rawOutput: { metadata: { exit: null } } }, { ok: false, command: 'npm test' }],
])('a command that %s', (_what, end, shown) => {
  expect(used(end)).toEqual({ tool: 'execute', call: 'c1', changes: 'unknown', ...shown });
});

test('a command that continues in the background has not run', () => {
  expect(used({ status: 'completed', rawInput: { run_in_background: true } })).not.toHaveProperty('command');
});

/** A hook can save a checkpoint of its task, with the fields of `checkpoint.saved` (protocol.md §7). */
import { expect, test } from 'vitest';
import { checkpointOfHooks } from '../../../../machines/guards/task-hooks/evaluate.ts';
import { toJsonText } from '../../../../machines/values/text.ts';

const context = { milestone: 'halfway' };
const saved = { checkpoint: 'a1-hooks', phase: 'midpoint', step: 5, context };

test.each([
  ["seed 001's names", { executionPhase: 'midpoint', executionStep: 5, agentContext: context }, saved],
  ['our names', { phase: 'midpoint', step: 5, context }, saved],
  ['data without a context, which is one itself', context, { checkpoint: 'a1-hooks', context }],
  ['a context of null', { agentContext: null }, { checkpoint: 'a1-hooks', context: null }],
  ['data that is no object', 'halfway', { checkpoint: 'a1-hooks', context: 'halfway' }],
])('%s', (_what, data, expected) => {
  expect(checkpointOfHooks('a1', toJsonText(data))).toEqual(expected);
});

test('a hook that requests a checkpoint without data', () => {
  expect(checkpointOfHooks('a1', null)).toEqual({ checkpoint: 'a1-hooks', context: null });
});

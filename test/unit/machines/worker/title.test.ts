/** The title by which people recognise a worker: the first line of the first prompt by a person. */
import { expect, test } from 'vitest';
import { replayLines } from '../../../support/fold-lines.ts';

const titleAfter = (...prompts: readonly object[]) =>
  replayLines(
    ['worker.w1.heartbeat.sent', {}],
    ...prompts.map((prompt) => ['worker.w1.prompt.submitted', prompt] as const),
  ).view().fleets.main?.workers.w1?.title;

test('a worker without a prompt has no title', () => {
  expect(titleAfter()).toBeNull();
  expect(titleAfter({ text: ' \n' }, {})).toBeNull();
});

test('the first line that has text names the worker, at most 80 characters of it', () => {
  expect(titleAfter({ text: '\n  Fix the login\nIt fails with a passkey.' })).toBe('Fix the login');
  expect(titleAfter({ text: '🙂'.repeat(100) })).toBe('🙂'.repeat(80));
});

test('later prompts, and prompts by agents, do not rename it', () => {
  expect(titleAfter({ text: 'Go on', by: 'agent' }, { text: 'Fix the login' }, { text: 'yes' })).toBe('Fix the login');
});

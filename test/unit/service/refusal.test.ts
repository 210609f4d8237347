/** Answers and acknowledgements of an operator that are accepted or refused. */
import { expect, test } from 'vitest';
import type { QueueView, TaskView, WorkerView } from '../../../machines/index.ts';
import { acknowledgementFault, createAnswer } from '../../../src/service/refusal.ts';

const input = (kind: 'permission' | 'question', detail: string): WorkerView['inputs'][number] => ({
  request: 'r1',
  seq: 7,
  since: '2026-01-01T00:00:00.000Z',
  kind,
  tool: null,
  message: null,
  detail,
});
const answer = (asked: WorkerView['inputs'][number], message?: string) =>
  createAnswer({ worker: 'w1', inputs: [asked], lastAnswer: null }, { verdict: 'allow', message });
const cut = input('question', '{"questions":[{"question":"Which … ?"');

test('a question whose text was cut cannot be allowed without an answer', () => {
  expect(() => answer(cut)).toThrow('worker w1 asks a question; give the answer as the message');
  expect(() => answer(cut, ' ')).toThrow('give the answer');
  expect(answer(cut, 'A')).toEqual({ request: 'r1', verdict: 'allow', message: 'A' });
});

test('a permission needs no message', () => {
  expect(answer(input('permission', '{}'))).toEqual({ request: 'r1', verdict: 'allow' });
});

const overdue = { ...input('permission', '{}'), overdue: { acknowledgedBy: null } };
test.each([
  ['an escalated worker', { worker: 'w1', state: 'escalated', inputs: [] }, null],
  ['a worker whose request is overdue', { worker: 'w1', state: 'working', inputs: [overdue] }, null],
  [
    'a worker whose request is not overdue',
    { worker: 'w1', state: 'working', inputs: [input('permission', '{}')] },
    'worker w1 is not escalated, it is working',
  ],
  ['an escalated task', { task: 'T-1', state: 'escalated' }, null],
  ['another task', { task: 'T-1', state: 'idle' }, 'task T-1 is not escalated, it is idle'],
  ['an unattended queue', { queue: 'q', pending: 1, unattended: { acknowledgedBy: null } }, null],
  ['an attended queue', { queue: 'q', pending: 1, unattended: null }, 'queue q is not unattended'],
])('%s: can somebody acknowledge it?', (_what, view, fault) => {
  expect(acknowledgementFault(view as unknown as WorkerView | TaskView | QueueView)).toBe(fault);
});

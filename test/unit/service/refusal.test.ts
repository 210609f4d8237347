/** What an operator may answer to what an agent asks. */
import { expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { createAnswer } from '../../../src/service/refusal.ts';

const input = (kind: 'permission' | 'question', detail: string): WorkerView['inputs'][number] => ({
  ...{ request: 'r1', seq: 7, since: '2026-01-01T00:00:00.000Z', kind, tool: null, message: null, detail },
});
const answer = (asked: WorkerView['inputs'][number], message?: string) =>
  createAnswer({ worker: 'w1', inputs: [asked], lastAnswer: null }, { verdict: 'allow', message });
const cut = input('question', '{"questions":[{"question":"Which … ?"');

test('a question that was cut is not allowed without an answer', () => {
  expect(() => answer(cut)).toThrow('worker w1 asks a question; give the answer as the message');
  expect(() => answer(cut, ' ')).toThrow('give the answer');
  expect(answer(cut, 'A')).toEqual({ request: 'r1', verdict: 'allow', message: 'A' });
});

test('a permission needs no message', () => {
  expect(answer(input('permission', '{}'))).toEqual({ request: 'r1', verdict: 'allow' });
});

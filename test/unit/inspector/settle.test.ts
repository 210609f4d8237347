/** How an operator's action treats tasks escalated with its workers, and how it reports the result. */
import { expect, test } from 'vitest';
import { describeUnsent, settle } from '../../../src/inspector/client/operator/settle.ts';

/** The request, the result, and what can be retried. */
async function resolve(workers: string[], tasks: [id: string, worker: string][], refused: string[]) {
  const asked: string[] = [];
  const run = async ({ id }: { id: string }) => {
    asked.push(id);
    if (refused.includes(id)) throw new Error(`${id} is not escalated`);
  };
  const targets = workers.map((id) => ({ entity: 'worker', id }) as const);
  const also = { verdict: 'stop', tasks: tasks.map(([id, worker]) => ({ id, worker })), run } as const;
  const { text, problem, failed, failedTasks } = await settle({ targets, run, done: 'Resumed', title: 'Resume' }, also);
  const again = [...failed, ...failedTasks].map(({ id }) => id);
  return { asked, text, problem: problem?.message, again };
}

test('a task is unchanged if its worker was not resolved, and the text reports what was done', async () => {
  const tasks: [string, string][] = [
    ['A-1', 'ana'],
    ['B-1', 'bob'],
  ];
  expect(await resolve(['ana', 'bob'], tasks, ['bob'])).toEqual({
    asked: ['ana', 'bob', 'A-1'],
    text: 'Resume failed for bob: bob is not escalated. Resumed: ana. Cancelled: A-1. Unchanged: task B-1',
    problem: 'bob is not escalated',
    again: ['bob'],
  });
  expect(await resolve(['bob'], [['B-1', 'bob']], ['bob'])).toEqual({
    asked: ['bob'],
    text: 'Resume failed: bob is not escalated. Unchanged: task B-1',
    problem: 'bob is not escalated',
    again: ['bob'],
  });
});

test('an answer that can be undone is not said to have happened', () => {
  expect(describeUnsent('Resume', ['ana', 'bob'])).toBe('Not sent yet: Resume ana, bob');
});

test('a failed task can be retried together with failed workers, although its own worker is resolved', async () => {
  const [first, again] = [
    await resolve(['ana', 'bob'], [['A-1', 'ana']], ['A-1', 'bob']),
    await resolve(['bob'], [['A-1', 'ana']], []),
  ];
  expect(first).toMatchObject({ asked: ['ana', 'bob', 'A-1'], again: ['bob', 'A-1'] });
  expect(again).toMatchObject({ asked: ['bob', 'A-1'], text: 'Resumed: worker bob. Cancelled: A-1', again: [] });
});

test('a task that fails after its worker was resolved is named with the reason', async () => {
  expect(await resolve(['ana'], [['A-1', 'ana']], ['A-1'])).toEqual({
    asked: ['ana', 'A-1'],
    text: 'Resumed: worker ana. Unchanged: task A-1 (A-1 is not escalated)',
    problem: 'A-1 is not escalated',
    again: ['A-1'],
  });
});

/** Requests of workers to a person: who may answer, how often, and how much is kept. */
import { expect, test } from 'vitest';
import { createFleet, type Entry, foldEntry, viewWorker } from '../../../../machines/index.ts';

function open() {
  const fleet = createFleet('main');
  let seq = 0;
  return {
    fold(area: 'worker' | 'ownWorker', type: string, data: object) {
      seq += 1;
      foldEntry(fleet, { seq, atMs: seq * 1_000, entry: { area, fleet: 'main', id: 'w1', type, data } as Entry });
    },
    view: () => viewWorker(fleet, 'w1', fleet.nowMs) ?? expect.fail('no worker w1'),
  };
}
const answer = (request: string, by = 'ann') => ({ by, request, verdict: 'allow' });

test('a second answer is refused, and names who has answered', () => {
  const { fold, view } = open();
  fold('worker', 'input.requested', { request: 'r1' });
  fold('ownWorker', 'input.answered', answer('r1'));
  fold('ownWorker', 'input.answered', answer('r1', 'bob'));
  fold('ownWorker', 'input.answered', answer('r2', 'bob'));
  expect(view()).toMatchObject({ lastAnswer: { by: 'ann' } });
  expect(view().refused.map(({ reason }) => reason)).toEqual([
    'request r1 of worker w1 was answered by ann: allow',
    'worker w1 does not ask for r2',
  ]);
});

test.each([
  ['worker', 'prompt.submitted', {}],
  ['worker', 'worker.registered', {}],
  ['worker', 'session.ended', {}],
  ['ownWorker', 'worker.retired', { by: 'ann' }],
] as const)('%s %s ends every question', (area, type, data) => {
  const { fold, view } = open();
  fold('worker', 'input.requested', { request: 'r1' });
  fold('worker', 'input.requested', { kind: 'question' });
  expect(view()).toMatchObject({ awaitsInput: true, inputs: [{ request: 'r1' }, { request: null }] });
  fold(area, type, data);
  expect(view()).toMatchObject({ awaitsInput: false, inputs: [] });
});

test('at most 16 different questions are open, and long texts are cut', () => {
  const { fold, view } = open();
  for (let index = 0; index < 20; index += 1)
    fold('worker', 'input.requested', { request: `r${index}`, tool: 't'.repeat(300), detail: 'd'.repeat(9_000) });
  fold('worker', 'input.requested', { request: 'r0', message: 'again' });
  const { inputs, refused } = view();
  expect(inputs).toHaveLength(16);
  expect(inputs.at(-1)).toMatchObject({ request: 'r0', message: 'again', tool: null });
  expect([inputs[0]?.tool?.length, inputs[0]?.detail?.length]).toEqual([200, 4_000]);
  expect(refused.map(({ reason }) => reason)).toEqual(Array(4).fill('16 questions are open, the maximum'));
});

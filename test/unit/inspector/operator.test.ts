/** The prompts suggested for several escalations at once. */
import { expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { suggestForMany } from '../../../src/inspector/client/operator/suggestions.ts';

const view = (fields: Partial<WorkerView>): WorkerView =>
  ({ plan: [], lastDecision: null, escalation: null, ...fields }) as unknown as WorkerView;

test('suggestions for several workers fit each of them', () => {
  const stuck = { escalation: { cause: 'stuck' } } as unknown as Partial<WorkerView>;
  const plan = [{ title: 'Write tests', status: 'pending', step: null }] as unknown as WorkerView['plan'];
  expect(suggestForMany([view({ ...stuck, plan }), view({ ...stuck, plan })])).toEqual([
    'Continue with the next step of the plan: Write tests',
    expect.stringContaining('Your last attempts failed the same way.'),
    'Continue with the next open step of your plan.',
    expect.stringContaining('Decide yourself'),
  ]);
  expect(suggestForMany([view({ ...stuck, plan }), view({})])).toEqual([expect.stringContaining('Decide yourself')]);
  expect(suggestForMany([])).toEqual([expect.stringContaining('Decide yourself')]);
});

/** The prompts suggested for an escalation, and for several at once. */
import { expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { suggestForMany, suggestPrompts } from '../../../src/inspector/client/operator/suggestions.ts';

const view = (fields: Partial<WorkerView>): WorkerView =>
  ({ plan: [], lastDecision: null, escalation: null, ...fields }) as unknown as WorkerView;

const escalatedFor = (cause: string, fields: Partial<WorkerView> = {}) =>
  view({ ...fields, escalation: { cause } } as unknown as Partial<WorkerView>);
const plan = [{ title: 'Deploy to production', status: 'pending', step: null }] as unknown as WorkerView['plan'];

test('suggestions for several workers fit each of them', () => {
  const stuck = escalatedFor('stuck', { plan });
  expect(suggestForMany([stuck, stuck])).toEqual([
    'Continue with the next step of the plan: Deploy to production',
    expect.stringContaining('Your last attempts failed the same way.'),
    'Continue with the next open step of your plan.',
  ]);
  expect(suggestForMany([stuck, escalatedFor('escalated')])).toEqual([]);
  expect(suggestForMany([])).toEqual([]);
});

test.each(['escalated', 'a cause of a later version'])('no answer decides the question of cause %s', (cause) => {
  const suggestions = suggestPrompts(escalatedFor(cause, { plan }));
  expect(suggestions).toEqual([expect.stringMatching(/^Do not decide this yourself\./)]);
  expect(suggestForMany([escalatedFor(cause, { plan }), escalatedFor(cause, { plan })])).toEqual(suggestions);
});

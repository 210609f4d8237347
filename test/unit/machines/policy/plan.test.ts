/** A worker's plan and its open steps. */
import { expect, test } from 'vitest';
import { policySetSchema } from '../../../../machines/index.ts';
import { evaluateChecks } from '../../../../machines/policy/checks/evaluate.ts';
import { createWork } from '../../../../machines/policy/glob.ts';
import { addSteps, remainingStepsMessage, returnSteps, updateStep } from '../../../../machines/policy/plan.ts';

test('a plan changes step by step: added, changed, removed', () => {
  const one = updateStep([], { step: '1' });
  expect(one).toEqual([{ title: '1', status: 'pending', step: '1' }]);
  const done = updateStep(one, { step: '1', title: 'Write', status: 'done' });
  expect(remainingStepsMessage(done)).toBeNull();
  expect(updateStep(done, { step: '1', status: 'deleted' })).toEqual([]);
  expect(updateStep(done, { step: '9', status: 'deleted' })).toBe(done);
});

test('the steps of a released task have their original ids', () => {
  const own = [{ title: 'Read', status: 'done', step: 's1' }];
  const ofTask = ['s1', 's2', 'T-1/s2'].map((step) => ({ title: step, status: 'pending', step }));
  const added = addSteps(own, 'T-1', ofTask).slice(1);
  expect(added.map(({ step }) => step)).toEqual(['T-1/s1', 's2', 'T-1/s2']);
  expect(returnSteps(ofTask, 'T-1', added)).toEqual(ofTask);
});

test('titles are cut between code points', () => {
  expect(remainingStepsMessage([{ title: '🙂'.repeat(40), status: 'pending' }])).toBe(
    `1 of 1 plan steps remain: ${'🙂'.repeat(30)}`,
  );
});

test('an empty plan passes, unless a plan is required', () => {
  const outcomeOf = (form: object, plan: { title: string; status: string }[]) => {
    const { policies } = policySetSchema.parse({ policies: { default: { checks: [{ plan: form }] } } });
    const nothingDone = { commands: [], lastChange: null, promptedSeq: null, claimedSeq: null };
    const circumstances = { iteration: 0, phase: null, files: [], filesUnknown: false, labels: {}, work: createWork() };
    const facts = { ...circumstances, ...nothingDone, plan, validation: [] };
    return evaluateChecks(policies.get('default')?.checks ?? [], facts, {}).outcome;
  };
  expect(outcomeOf({}, [])).toEqual({ kind: 'pass' });
  expect(outcomeOf({ required: true }, [])).toMatchObject({ kind: 'fail', message: 'No plan yet' });
  expect(outcomeOf({ required: true }, [{ title: 'a', status: 'done' }])).toEqual({ kind: 'pass' });
  expect(outcomeOf({ required: true }, [{ title: 'a', status: 'pending' }])).toMatchObject({
    message: '1 of 1 plan steps remain: a',
  });
});

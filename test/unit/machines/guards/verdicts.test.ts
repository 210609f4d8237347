/** The verdicts of guards that passed are nearly always equal, so decisions share them. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { guards } from '../../../../machines/guards/index.ts';
import { createFleet, type Decision, foldEntry, readEntry } from '../../../../machines/index.ts';

function decide(worker: string, showsInputs = false): Decision {
  const entry = readEntry(`stopgate.main.worker.${worker}.stop.attempted`, '', 0);
  if (entry === null || !('data' in entry)) throw new Error('no entry');
  const outcome = foldEntry(createFleet('main', { showsInputs }), { seq: 1, atMs: 1, entry }).outcomes.find(
    ({ kind }) => kind === 'decided',
  );
  if (outcome?.kind !== 'decided') throw new Error('no decision');
  return outcome.decision;
}
const passed = ({ verdicts }: Decision) => verdicts.filter(({ verdict }) => verdict === 'pass');

test('changing one decision cannot change another', () => {
  const [one, two] = [passed(decide('w1')), passed(decide('w2'))];
  expect(one.length).toBeGreaterThan(5);
  expect(one).toEqual(two);
  for (const verdict of one) expect(() => Object.assign(verdict, { detail: 'changed' })).toThrow(TypeError);
});

test('an explanation contains the inputs, and later decisions do not', () => {
  const before = decide('w1');
  expect(passed(decide('w1', true)).every(({ input }) => input !== undefined)).toBe(true);
  expect(decide('w1')).toEqual(before);
});

test('every guard that ran is listed, in the order of the protocol; retries and stuck only if they decide', () => {
  expect(decide('w1').verdicts.map(({ guard }) => guard)).toEqual([
    'retired',
    'escalated',
    'bypass',
    'limited',
    'waiting',
    'promise',
    'checks',
    'hooks',
    'pending',
    'idle',
    'done',
  ]);
});

// Several transitions of the chart use the same guard, and `checks` may search thousands of files.
test('a guard is evaluated once in an attempt', () => {
  const spies = [vi.spyOn(guards, 'checks'), vi.spyOn(guards, 'idle')];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  decide('w1');
  expect(spies.map((spy) => spy.mock.calls.length)).toEqual([1, 1]);
});

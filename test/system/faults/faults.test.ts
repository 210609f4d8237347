/** The short form of `npm run test:faults`: every fault once or twice. */
import { expect, test } from 'vitest';
import { faults, runFault, runRewind, storeFull } from './faults.ts';

const sound = { lost: 0, double: 0, undecided: 0 };

test.each([...faults, storeFull])('$name: nothing is lost, doubled or left undecided', async (fault) => {
  expect(await runFault(fault, false)).toMatchObject(sound);
});

test('a store that was rewound is noticed, and served again after a restart', async () => {
  expect(await runRewind()).toMatchObject(sound);
});

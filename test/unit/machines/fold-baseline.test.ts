/**
 * The fold of this commit is that of the commits before it: random logs fold to the states of the baseline, unless the
 * rules' version went up (protocol.md §15).
 */
import { expect, test } from 'vitest';
import { releasedRules } from '../../../machines/index.ts';
import { compareGroup, foldGroup, groupLine, groups, readBaseline } from '../../support/fold-baseline.ts';
import { sample } from '../../support/random.ts';

test.each(releasedRules.map(({ version }) => version))(
  'version %d of the rules: equal logs, equal states',
  (version) => {
    const baseline = readBaseline(version);
    expect(baseline).toHaveLength(groups.length);
    for (const group of sample(groups, 4, 'groups'))
      expect(compareGroup(group, version, foldGroup(group, version), baseline[group] ?? '')).toBeNull();
  },
);

test('names the difference: the seed of another state, or another log', () => {
  const found = { logs: 'a1b2c3', states: Array.from({ length: 20 }, (_, at) => `${100_000 + at}`) };
  const compare = (expected: Partial<typeof found>) => compareGroup(3, 1, found, groupLine({ ...found, ...expected }));
  expect(compare({})).toBeNull();
  expect(compare({ states: found.states.with(7, '000000') })).toMatch(/^the log of seed 67 folds to another state/);
  expect(compare({ logs: '000000' })).toMatch(/^the random logs of seeds 60 to 79 are others/);
});

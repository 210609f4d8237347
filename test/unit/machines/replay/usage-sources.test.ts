/** Readers that do not fold the log count the same reports of usage as the fold. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFleet, foldEntry } from '../../../../machines/index.ts';
import { createUsageSources } from '../../../../machines/replay/usage-sources.ts';
import { randomLog } from '../../../support/random-log.ts';

test('readers of random logs count the same reports as the fold', () => {
  let reports = 0;
  fc.assert(
    fc.property(randomLog(400), (log) => {
      const fleet = createFleet('main');
      const sources = createUsageSources();
      for (const stored of log) {
        const { area, id, type, data } = stored.entry;
        // Only the fold knows that a forgotten worker starts again as a new one.
        if (type === 'policy.set') continue;
        const { outcomes } = foldEntry(fleet, stored);
        if (area === 'worker' || area === 'ownWorker') sources.note(id, type);
        if (type !== 'usage.reported') continue;
        reports += 1;
        expect(outcomes.some(({ kind }) => kind === 'used')).toBe(sources.counts(id, data.source));
      }
    }),
    { numRuns: 30 },
  );
  expect(reports).toBeGreaterThan(50);
});

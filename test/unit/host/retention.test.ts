/** Which replica trims the log. */
import { expect, test, vi } from 'vitest';
import { createFleet, type Entry, foldEntry, ownerFor, readEntry } from '../../../machines/index.ts';
import { createRetention, type RetentionOptions } from '../../../src/host/maintenance/log-retention.ts';
import { lifecycleAtHead } from './lifecycle-at-head.ts';

test('one of several replicas trims the log', async () => {
  const fleet = createFleet('main');
  const names = ['r1', 'r2', 'r3'];
  for (const replica of names) {
    const data = JSON.stringify({ replica });
    const entry = readEntry('stopgate.main.own.fleet.main.replica.joined', data, data.length) as Entry;
    foldEntry(fleet, { seq: fleet.seq + 1, atMs: 1_000, entry, owner: null });
  }
  const looked: string[] = [];
  for (const replica of names) {
    const usableSnapshots = () => {
      looked.push(replica);
      return [];
    };
    const trimmer = { size: async () => ({ firstSeq: 1, firstMs: 0, bytes: 1 }) };
    const context = {
      fleet,
      replica,
      lifecycle: lifecycleAtHead(),
      trimmer,
      usableSnapshots,
      logger: { warn: vi.fn() },
      logClock: { now: () => 1_000 },
    };
    const retention = createRetention(context as unknown as RetentionOptions, { owedFrom: () => null });
    retention.configure({ forMs: 1, bytesMax: null, archive: null });
    await retention.run();
  }
  expect(looked).toEqual([ownerFor(fleet, 'retention', null)]);
});

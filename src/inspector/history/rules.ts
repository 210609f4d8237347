/** Counts how the checks of the policies have done, by folding a copy of the past. */
import { createFleet } from '../../../machines/index.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import { createRuleCounts } from '../rules/rule-health.ts';
import type { RulesReport } from '../rules/rules-report.ts';
import type { Job } from './jobs.ts';
import { findFirst, readUnbroken } from './log-entries.ts';
import type { Past } from './past.ts';

export async function readRules(
  { log, past, fleet: name }: { readonly log: StoredLog; readonly past: Past; readonly fleet: string },
  sinceMs: number,
  job: Job,
): Promise<RulesReport> {
  const range = await log.range();
  const fleet = (await past.copyBefore(await findFirst(log, range, sinceMs), job)) ?? createFleet(name);
  fleet.showsInputs = true;
  const counts = createRuleCounts();
  const fromSeq = fleet.seq + 1;
  const { lastSeq } = range;
  if (fromSeq <= lastSeq)
    await readUnbroken(log, { fromSeq, toSeq: lastSeq }, (message) => {
      counts.fold(fleet, message, sinceMs);
      return job.step(message.seq - fromSeq + 1, lastSeq - fromSeq + 1);
    });
  return counts.report(fleet, sinceMs);
}

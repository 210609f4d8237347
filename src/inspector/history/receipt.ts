/** Folds the entries of one attempt, for its receipt. */
import { createFleet } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import { createReceiptReader, type Judged } from '../receipts/receipt.ts';
import type { Statement } from '../receipts/statement.ts';
import type { Job } from './jobs.ts';
import { readUnbroken } from './log-entries.ts';
import type { Past } from './past.ts';

/**
 * @throws AppError stop.incomplete if the decision cannot be attested; input.bad if the log no longer has the attempt
 */
export async function readReceipt(
  { log, past, fleet: name }: { readonly log: StoredLog; readonly past: Past; readonly fleet: string },
  judged: Judged,
  job: Job,
): Promise<Statement> {
  const fleet = (await past.copyBefore(judged.seq, job)) ?? createFleet(name);
  if (fleet.seq >= judged.seq)
    throw new AppError('input.bad', 'retention has removed the entries that the decision follows from');
  fleet.showsInputs = true;
  const reader = createReceiptReader(judged);
  const fromSeq = fleet.seq + 1;
  const { lastSeq } = await log.range();
  const decided = new DecidedError();
  try {
    await readUnbroken(log, { fromSeq, toSeq: lastSeq }, (message) => {
      reader.fold(fleet, message);
      if (reader.isDecided()) throw decided;
      return job.step(message.seq - fromSeq + 1, lastSeq - fromSeq + 1);
    });
  } catch (error) {
    if (error !== decided) throw error;
  }
  return reader.statement();
}

/** Ends the reading early. */
class DecidedError extends Error {}

/**
 * The history thread: folds the past beside the service, over a connection of its own, so that decisions never wait for
 * time travel or what if. It starts with the first request and ends some minutes after the last (history.ts).
 */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { AppError } from '../../errors.ts';
import { openConnection } from '../../nats/connection.ts';
import { openStoredLog, type StoredLog } from '../../nats/stored-log.ts';
import { toTruncatedJson } from '../truncated-json.ts';
import { createCheckpoints } from './checkpoints.ts';
import { readPast } from './past.ts';
import { createPastFolds, type PastFolds } from './past-folds.ts';
import { createLane, createPace, type Pace } from './turns.ts';
import { compareDecisions } from './what-if.ts';
import type { FromThread, HistorySource, HistoryWork, ToThread } from './work.ts';

/** Each holds a fleet, a comparison two. More wait. */
const lanes = { past: createLane(4), whatIf: createLane(2) };
const port = parentPort;
const source = workerData as HistorySource;

lowerPriority();
if (port !== null) {
  const cancels = new Map<number, AbortController>();
  const opened = openLog();
  port.on('message', (message: ToThread) => {
    if ('cancel' in message) return cancels.get(message.cancel)?.abort(cancelled());
    const { id, work } = message;
    const cancel = new AbortController();
    cancels.set(id, cancel);
    const tell = (news: FromThread) => port.postMessage(news);
    const pace = createPace(cancel.signal, (progress) => tell({ id, progress }));
    lanes[work.kind]
      .run(cancel.signal, async () => perform(await opened, work, pace))
      .then(
        (result) => tell({ id, json: toTruncatedJson(result) }),
        (error: unknown) => tell({ id, error: toMessage(error) }),
      )
      .finally(() => cancels.delete(id));
  });
}

type Opened = { readonly log: StoredLog; readonly folds: PastFolds };

async function openLog(): Promise<Opened> {
  const { fleet, ...connection } = source;
  const nc = await openConnection({ ...connection, name: `stopgate history ${fleet}`, patient: true });
  const log = await openStoredLog(nc, fleet);
  return { log, folds: createPastFolds(fleet, log, createCheckpoints()) };
}

const perform = ({ log, folds }: Opened, work: HistoryWork, pace: Pace): Promise<object> =>
  work.kind === 'past' ? readPast(folds, work.seq, work.topic, pace) : compareDecisions(log, source.fleet, work, pace);

const cancelled = () => new AppError('service.busy', 'cancelled');

function toMessage(error: unknown): Extract<FromThread, { error: object }>['error'] {
  if (error instanceof AppError) return { code: error.code, message: error.message, issues: error.issues };
  throw error;
}

/** On Linux each thread has a priority of its own; elsewhere this would slow down the whole service. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(10);
  } catch {
    // Not allowed here: it only costs fairness.
  }
}

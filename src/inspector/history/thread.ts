/**
 * The history thread: folds the past beside the service, over a connection of its own, so that decisions never wait for
 * time travel or what if. It starts with the first request and ends some minutes after the last (history.ts).
 */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { AppError } from '../../errors.ts';
import { createLogger } from '../../log.ts';
import { openConnection } from '../../nats/connection.ts';
import { createSnapshots, type Snapshots } from '../../nats/snapshots/snapshots.ts';
import { openStoredLog, type StoredLog } from '../../nats/stored-log.ts';
import { toTruncatedJson } from '../truncated-json.ts';
import { createCheckpoints } from './checkpoints.ts';
import { createLogOutline, type LogOutline } from './log-outline.ts';
import { createOutline } from './outline.ts';
import { readPast } from './past.ts';
import { type Asker, createPastFolds, type PastFolds } from './past-folds.ts';
import type { StoredSnapshots } from './starts.ts';
import { createStatisticsReader, type StatisticsReader } from './statistics.ts';
import { createLane } from './turns.ts';
import { compareDecisions } from './what-if.ts';
import type { FromThread, HistorySource, HistoryWork, ToThread } from './work.ts';

/** Each holds two fleets. More wait. */
const comparisons = createLane(2);
/** All go on in the same counts. */
const statistics = createLane(1);
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
    // The service's thread only passes the bytes on: a large fleet takes a megabyte.
    const answer = (result: object) => {
      const body = new TextEncoder().encode(toTruncatedJson(result));
      port.postMessage({ id, body } satisfies FromThread, [body.buffer]);
    };
    const asker: Asker = { signal: cancel.signal, onProgress: (progress) => tell({ id, progress }) };
    opened
      .then((it) => perform(it, work, asker))
      .then(answer)
      .catch((error: unknown) => tell({ id, error: toMessage(error) }))
      .finally(() => cancels.delete(id));
  });
}

type Opened = {
  readonly log: StoredLog;
  readonly folds: PastFolds;
  readonly outline: LogOutline;
  readonly counts: StatisticsReader;
};

async function openLog(): Promise<Opened> {
  const { fleet, ...connection } = source;
  const nc = await openConnection({ ...connection, name: `stopgate history ${fleet}`, patient: true });
  const log = await openStoredLog(nc, fleet);
  const coarse = createOutline();
  const snapshots = findSnapshots(createSnapshots(nc, fleet, 1, createLogger('silent')));
  const folds = createPastFolds({ fleet, log, checkpoints: createCheckpoints(), snapshots, onStep: coarse.add });
  return { log, folds, outline: createLogOutline(log, folds, coarse), counts: createStatisticsReader(log) };
}

/** One that cannot be read is as good as none: an earlier one, or the beginning, gives the same. */
const findSnapshots = ({ past }: Snapshots): StoredSnapshots => ({
  seqs: () => past.seqs().catch(() => []),
  async load(upTo) {
    const start = await past.load(upTo);
    return start === null ? null : { fleet: start.fleet, seq: start.position.seq };
  },
});

function perform(opened: Opened, work: HistoryWork, asker: Asker): Promise<object> {
  switch (work.kind) {
    case 'past':
      return readPast(opened.folds, work.seq, work.topic, asker);
    case 'outline':
      return opened.outline.read(work, asker);
    case 'statistics':
      return statistics.run(() => {
        asker.signal.throwIfAborted();
        return opened.counts.read(work.span, asker);
      });
    case 'whatIf':
      return comparisons.run(() => {
        asker.signal.throwIfAborted();
        return compareDecisions(opened, source.fleet, work, asker);
      });
  }
}

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

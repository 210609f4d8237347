/**
 * The history process: folds the past beside the service, over a connection of its own, so that decisions never wait for
 * time travel or what if. It starts with the first request, or a little ahead of it, and ends some minutes after the last
 * (history.ts).
 */
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { AppError } from '../../errors.ts';
import { createLogger } from '../../log.ts';
import { openConnection } from '../../nats/connection.ts';
import { openStoredLog, type StoredLog } from '../../nats/log/stored-log.ts';
import { createSnapshots, type Snapshots } from '../../nats/snapshots/snapshots.ts';
import { toTruncatedJson } from '../messages.ts';
import type {
  FromProcess,
  HistoryProgress,
  HistoryRequest,
  HistorySource,
  HistoryWork,
  ToProcess,
} from './history-process.ts';
import { createJobs, type Job } from './jobs.ts';
import { createLogOutline, createOutline, type LogOutline } from './outline.ts';
import { createPast, type Past, readPast, type StoredSnapshots } from './past.ts';
import { createStatisticsReader, type StatisticsReader } from './statistics.ts';

const jobs = createJobs();
const cancels = new Map<number, AbortController>();
const tell = (news: FromProcess) => void process.send?.(news);
/** Its lines go to the log of the service. */
const logger = createLogger('info', { write: (line) => tell({ log: line }) });

lowerPriority();
// It ends with the service, however that ends; a Ctrl-C for both is for the service to obey.
process.on('disconnect', () => process.exit());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
process.once('message', (source: HistorySource) => {
  let opened: Promise<Opened> | null = null;
  const close = () => {
    opened = null;
  };
  const open = () => {
    opened ??= openLog(source, close).catch((error: unknown) => {
      close();
      throw error;
    });
    return opened;
  };
  // It may have been started ahead of the first request, which meets its own failure.
  void open().catch(() => {});
  process.on('message', (message: ToProcess) => {
    if ('cancel' in message) cancels.get(message.cancel)?.abort(cancelled());
    else void answer(message, source.fleet, open);
  });
});

async function answer({ id, work }: HistoryRequest, fleet: string, open: () => Promise<Opened>): Promise<void> {
  const cancel = new AbortController();
  cancels.set(id, cancel);
  const asker = { signal: cancel.signal, onProgress: (progress: HistoryProgress) => tell({ id, progress }) };
  try {
    const opened = await open();
    const result = await jobs.run(work.kind, asker, (job) => perform(opened, fleet, work, job));
    // The service only passes the bytes on: a large fleet takes a megabyte.
    tell({ id, body: new TextEncoder().encode(toTruncatedJson(result)) });
  } catch (error) {
    tell({ id, error: toMessage(error) });
  } finally {
    cancels.delete(id);
  }
}

type Opened = {
  readonly log: StoredLog;
  readonly past: Past;
  readonly outline: LogOutline;
  readonly counts: StatisticsReader;
};

/** `onClosed`: it reads no more. */
async function openLog({ fleet, ...connection }: HistorySource, onClosed: () => void): Promise<Opened> {
  const nc = await openConnection({ ...connection, name: `stopgate history ${fleet}`, patient: true });
  const log = await openStoredLog(nc, fleet).catch(async (error: unknown) => {
    await nc.close();
    throw error;
  });
  void nc.closed().then(onClosed);
  const coarse = createOutline();
  const snapshots = openSnapshots(createSnapshots(nc, fleet, logger));
  const past = createPast({ fleet, log, snapshots, onStep: coarse.add });
  return { log, past, outline: createLogOutline(log, past, jobs, coarse), counts: createStatisticsReader(log, past) };
}

/** Treats a snapshot that cannot be read as missing: an earlier one, or the beginning, gives the same state. */
function openSnapshots({ past }: Snapshots): StoredSnapshots {
  let mayWrite = true;
  return {
    seqs: () =>
      past.positions().then(
        (positions) => positions.map(({ seq }) => seq),
        () => [],
      ),
    async load(upTo) {
      const start = await past.load(upTo);
      return start === null ? null : { fleet: start.fleet, seq: start.position.seq };
    },
    async write(of, message) {
      if (!mayWrite || of.unknownRules !== null) return;
      await past.write(of, message).catch((error: unknown) => {
        // The next would fail too, and each try holds up a jump.
        mayWrite = false;
        logger.warn({ err: error, seq: message.seq }, 'no snapshots are stored for time travel: jumps take longer');
      });
    },
  };
}

async function perform({ log, past, outline, counts }: Opened, fleet: string, work: HistoryWork, job: Job) {
  switch (work.kind) {
    case 'past':
      return readPast(past, work.seq, work.topic, job);
    case 'outline':
      return outline.read(work, job);
    case 'statistics':
      return counts.read(work.span, job);
    case 'whatIf': {
      // Jumps need none of its libraries.
      const { compareDecisions } = await import('./what-if.ts');
      return compareDecisions({ log, past }, fleet, work, job);
    }
  }
}

const cancelled = () => new AppError('service.busy', 'cancelled');

function toMessage(error: unknown): Extract<FromProcess, { error: object }>['error'] {
  if (error instanceof AppError) return { code: error.code, message: error.message, issues: error.issues };
  throw error;
}

/** Lowers the priority of all threads. On Linux each has its own, and V8 has started its helpers by now. */
function lowerPriority(): void {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid];
  for (const thread of threads) {
    try {
      setPriority(thread, constants.priority.PRIORITY_LOW);
    } catch {
      // Not allowed here, or gone: it only costs fairness.
    }
  }
}

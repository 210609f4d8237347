/**
 * The history process. It folds the past outside of the service, over its own connection, so that decisions never wait
 * for time travel or "what if". The service starts and ends it (history.ts).
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
const send = (news: FromProcess) => void process.send?.(news);
/** Log lines are sent to the service. */
const logger = createLogger('info', { write: (line) => send({ log: line }) });

lowerPriority();
// End with the service, however it ends. Signals such as Ctrl-C are handled by the service.
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
  // Connect ahead of the first request. If this fails, the request tries again and reports the error.
  void open().catch(() => {});
  process.on('message', (message: ToProcess) => {
    if ('cancel' in message) cancels.get(message.cancel)?.abort(cancelled());
    else void answer(message, source.fleet, open);
  });
});

async function answer({ id, work }: HistoryRequest, fleet: string, open: () => Promise<Opened>): Promise<void> {
  const cancel = new AbortController();
  cancels.set(id, cancel);
  const asker = { signal: cancel.signal, onProgress: (progress: HistoryProgress) => send({ id, progress }) };
  try {
    const opened = await open();
    const result = await jobs.run(work.kind, asker, (job) => perform(opened, fleet, work, job));
    // Encode here, so that the service only forwards the bytes: about a megabyte for a large fleet.
    send({ id, body: new TextEncoder().encode(toTruncatedJson(result)) });
  } catch (error) {
    send({ id, error: toMessage(error) });
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

/** @param onClosed called when the connection has closed */
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

/** Treats unreadable snapshots as missing, since folding from an earlier one gives the same state. */
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
        // The next write would fail too, and each attempt delays a jump.
        mayWrite = false;
        logger.warn({ err: error, seq: message.seq }, 'cannot store snapshots for time travel; jumps will take longer');
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
    case 'receipt': {
      const { readReceipt } = await import('./receipt.ts');
      return readReceipt({ log, past, fleet }, work.judged, job);
    }
    case 'rules': {
      const { readRules } = await import('./rules.ts');
      return readRules({ log, past, fleet }, work.sinceMs, job);
    }
    case 'whatIf': {
      // Loaded on demand: jumps need none of its libraries.
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

/** Lowers the priority of all threads. On Linux each thread has its own priority, and V8's helpers already exist. */
function lowerPriority(): void {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid];
  for (const thread of threads) {
    try {
      setPriority(thread, constants.priority.PRIORITY_LOW);
    } catch {
      // Not permitted, or the thread has ended. The process works without it.
    }
  }
}

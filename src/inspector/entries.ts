/** Searches the whole log with filters, newest entries first. Each request reads a bounded part of the log. */
import { type Decision, decidingGuard, readJson } from '../../machines/index.ts';
import { createKeyedMutex } from '../concurrency/keyed-mutex.ts';
import { AppError } from '../errors.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import type { LogMessage } from '../nats/log/log-reader.ts';
import type { EntriesPage, TimelineEntry } from './messages.ts';
import { guardKeyOf } from './statistics/buckets.ts';
import { timelineEntry } from './timeline.ts';
import { countedKindOf } from './vocabulary.ts';

/** Maximum number of queued searches per replica. */
const waitingMax = 32;

/** Serves one request at a time: reading a page of large entries can take 100 MB of memory. */
export function createEntriesReader(log: Parameters<typeof readEntries>[0]) {
  const mutex = createKeyedMutex();
  let waiting = 0;
  /** @throws AppError service.busy if too many requests wait */
  return async (filter: EntriesFilter, page: Parameters<typeof readEntries>[2]): Promise<EntriesPage> => {
    if (waiting >= waitingMax)
      throw new AppError('service.busy', `${waitingMax} searches are already waiting on this replica; try again later`);
    waiting += 1;
    return mutex
      .runExclusive('entries', () => readEntries(log, filter, page))
      .finally(() => {
        waiting -= 1;
      });
  };
}

/** An entry must match all filters that are not null. `text` matches subject or payload, ignoring case. */
export type EntriesFilter = {
  readonly type: string | null;
  readonly worker: string | null;
  readonly task: string | null;
  readonly check: string | null;
  /**
   * The outcome of a check or the `VerdictKind` of a stop, as counted by the statistics. Several, separated by commas.
   */
  readonly outcome: string | null;
  /** The guard that blocked, as named by the statistics. */
  readonly guard: string | null;
  readonly text: string | null;
  /** Stored at or after this time, in milliseconds since 1970. */
  readonly fromMs: number | null;
  /** Stored before this time. */
  readonly toMs: number | null;
};

/**
 * Maximum number of entries that one request reads: about half a second of work. Older entries need another request.
 */
const readMax = 20_000;
/** Size of the first batch. Each following batch is four times as large. */
const readFirst = 500;
const decoder = new TextDecoder();

/**
 * Returns the newest `limit` matching entries before `before` (null for the end of the log). The page's own `before` is
 * where the next page ends, null at the beginning of the log. An empty page does not mean that there are no more.
 */
async function readEntries(
  log: Pick<EventLog, 'range' | 'history' | 'seqAt'>,
  filter: EntriesFilter,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<EntriesPage> {
  const { firstSeq, lastSeq } = await log.range();
  const [fromSeq, toSeq] = await Promise.all([
    filter.fromMs === null ? firstSeq : log.seqAt(filter.fromMs),
    filter.toMs === null ? lastSeq + 1 : log.seqAt(filter.toMs),
  ]);
  const least = Math.max(firstSeq, fromSeq, 1);
  let end = Math.min(before ?? lastSeq + 1, toSeq, lastSeq + 1);
  let [left, step] = [readMax, readFirst];
  let found: TimelineEntry[] = [];
  while (found.length < limit && left > 0 && end > least) {
    const start = Math.max(least, end - Math.min(step, left));
    const part: TimelineEntry[] = [];
    // One extra shows whether there are more. Keep no others: an entry may have 64 KiB.
    const room = limit + 1 - found.length;
    await log.history({ fromSeq: start, toSeq: end - 1 }, (message) => {
      const entry = fits(message, filter) ? timelineEntry(message) : null;
      if (entry !== null) part.push(entry);
      if (part.length > room) part.shift();
    });
    found = [...part, ...found];
    left -= end - start;
    end = start;
    step *= 4;
  }
  const entries = found.slice(-limit);
  const next = found.length > entries.length ? (entries[0]?.seq ?? end) : end;
  return { entries, before: next > least ? next : null, readTo: next };
}

function fits({ subject, data }: LogMessage, filter: EntriesFilter): boolean {
  const { type, worker, task, check, outcome, guard, text } = filter;
  // `stopgate.<fleet>.[own.]<entity>.<id>.<type>`, or `stopgate.<fleet>.decision.<worker>`.
  const tail = subject.split('.').slice(2).join('.');
  const isDecision = tail.startsWith('decision.');
  if (type !== null && !(type === 'decision' ? isDecision : tail.endsWith(`.${type}`))) return false;
  const isRead = [worker, task, check, outcome, guard].some((value) => value !== null);
  if (!isRead && text === null) return true;
  const payload = decoder.decode(data);
  if (text !== null && !`${tail} ${payload}`.toLowerCase().includes(text.toLowerCase())) return false;
  if (!isRead) return true;
  const read = readJson(payload);
  const fields = (read.ok ? read.value : {}) as Fields;
  return (
    (worker === null || isAbout(tail, 'worker', worker) || fields.worker === worker) &&
    (task === null || isAbout(tail, 'task', task) || fields.task === task) &&
    (check === null || fields.check === check || hasFinding(fields.feedback, check)) &&
    (outcome === null || outcome.split(',').includes(String(isDecision ? kindOf(fields) : fields.outcome))) &&
    (guard === null || (isDecision && guard === blockingGuard(fields)))
  );
}

type Fields = Readonly<Record<string, unknown>>;

const kindOf = (fields: Fields) => countedKindOf(fields as unknown as Decision);
const blockingGuard = (fields: Fields): string | null => {
  const decision = fields as unknown as Decision;
  if (decision.decision !== 'block' || kindOf(fields) === null || !Array.isArray(decision.verdicts)) return null;
  return guardKeyOf(decidingGuard(decision));
};

const isAbout = (tail: string, entity: string, id: string): boolean =>
  tail.startsWith(`${entity}.${id}.`) ||
  tail.startsWith(`own.${entity}.${id}.`) ||
  (entity === 'worker' && tail === `decision.${id}`);

const hasFinding = (feedback: unknown, check: string): boolean =>
  Array.isArray(feedback) && feedback.some((finding) => (finding as Fields | null)?.check === check);

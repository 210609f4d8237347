/** The inspector of a replica: the live fleet, its past, and the entries about each actor. */
import type { Host } from '../host/host.ts';
import type { Logger } from '../log.ts';
import type { EventLog, LogBounds } from '../nats/log/event-log.ts';
import type { LogMessage } from '../nats/log/log-reader.ts';
import { viewWorkerOf } from '../service/views.ts';
import { readAttempts } from './attempts.ts';
import { type CurrentPolicies, readCurrentPolicies } from './current-policies.ts';
import { createEntriesReader, type EntriesFilter } from './entries.ts';
import { createHistory, type History } from './history/history.ts';
import type { HistorySource } from './history/history-process.ts';
import { createLive, type Live } from './live/live.ts';
import type { AttemptRecord, EntriesPage, TimelineEntry, TimelinePage, Topic } from './messages.ts';
import type { ServiceReport } from './service-messages.ts';
import { createServiceReport, type ReportSource } from './service-report.ts';
import { createFeed, type Feed } from './stately/feed.ts';
import { readTaskTimeline } from './task-timeline.ts';
import { readEntryAt, readTimeline } from './timeline.ts';
import { readReplayLines } from './worker-history.ts';

export type Inspection = {
  readonly live: Live;
  /** Feed for XState inspectors. */
  readonly feed: Feed;
  range(): Promise<LogBounds>;
  /** Time travel, statistics and "what if", computed in a separate process. */
  readonly history: Pick<History, 'ask'>;
  /**
   * The newest `limit` entries about an actor before entry `before`. Null reads from the end of the log. Those of a
   * task include its holders' entries.
   */
  timeline(topic: Topic, page: { before: number | null; limit: number }): Promise<TimelinePage>;
  /** The newest `count` decisions of a worker, as stored, oldest first. */
  decisions(worker: string, count: number): Promise<LogMessage[]>;
  /** The newest `limit` attempts of a worker before entry `before`, newest first. */
  attempts(worker: string, page: { before: number | null; limit: number }): Promise<AttemptRecord[]>;
  /** One entry, not truncated. Null if there is none at `seq` or it is not about an actor. */
  entry(seq: number): Promise<TimelineEntry | null>;
  /** Searches the whole log. */
  entries(filter: EntriesFilter, page: { before: number | null; limit: number }): Promise<EntriesPage>;
  /** The last entry stored at or before `ms` (milliseconds since 1970). */
  seqAt(ms: number): Promise<number>;
  policies(): Promise<CurrentPolicies>;
  service(): Promise<ServiceReport>;
  /** A worker's history as input lines for `stopgate replay`. */
  replayLines(worker: string): Promise<string[]>;
  close(): Promise<void>;
};

/** `history` says how the history process connects to the log. */
type InspectionSource = Omit<ReportSource, 'host' | 'log'> & { readonly history: Omit<HistorySource, 'fleet'> };

export function createInspection(
  host: Host,
  log: EventLog,
  logger: Logger,
  { history: source, ...reported }: InspectionSource,
): Inspection {
  const { fleet } = host;
  const headSeq = async () => (await log.head()).seq;
  const { logNow, foldedSeq, observe } = host;
  const live = createLive({
    fleet,
    logNow,
    foldedSeq,
    headSeq,
    observe,
    outage: host.health.outage,
    logger,
    viewWorker: (worker) => viewWorkerOf(host, worker),
  });
  const feed = createFeed(fleet, observe, logger);
  const history = createHistory({ ...source, fleet: fleet.name }, logger);
  return {
    live,
    feed,
    history,
    range() {
      // A page asks for the range just before it enters time travel.
      history.prepare();
      return log.range();
    },
    timeline({ entity, id }, page) {
      const record = entity === 'task' ? fleet.tasks.get(id) : undefined;
      if (record === undefined) return readTimeline(log, fleet.name, { entity, id }, page);
      const { worker } = record.snapshot.context;
      const movedMs = record.lastMove?.atMs ?? record.createdMs;
      return readTaskTimeline(log, fleet.name, { id, worker, movedMs }, page);
    },
    decisions: (worker, count) => log.newest(`stopgate.${fleet.name}.decision.${worker}`, count, null),
    attempts: (worker, page) => readAttempts(log, fleet.name, worker, page),
    entry: (seq) => readEntryAt(log, seq),
    entries: createEntriesReader(log),
    async seqAt(ms) {
      const { firstSeq } = await log.range();
      return Math.max(firstSeq, (await log.seqAt(ms + 1)) - 1);
    },
    policies: () => readCurrentPolicies(log, fleet.name),
    service: createServiceReport({ ...reported, host, log }),
    replayLines: (worker) => readReplayLines(log, fleet.name, worker),
    async close() {
      live.close();
      feed.close();
      await history.close();
    },
  };
}

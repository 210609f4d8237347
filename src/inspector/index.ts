/** What the inspector shows of a replica: the fleet live, its past, and the entries of each actor. */
import type { Host } from '../host/host.ts';
import type { EventLog, LogBounds } from '../nats/event-log.ts';
import { type CurrentPolicies, readCurrentPolicies } from './current-policies.ts';
import { createFoldCursor } from './fold-cursor.ts';
import { createLive, type Live } from './live/live.ts';
import type { PastActor, PastFleet, TimelineEntry, TimelinePage, Topic } from './messages.ts';
import { readPast } from './past.ts';
import { readReplayLines } from './replay-lines.ts';
import { createSharedWatcher } from './shared-watcher.ts';
import { createFeed, type Feed } from './stately/feed.ts';
import { readEntryAt, readTimeline } from './timeline.ts';
import { type Compare, createCompare } from './what-if.ts';

export type Inspection = {
  readonly live: Live;
  /** For XState inspectors. */
  readonly feed: Feed;
  range(): Promise<LogBounds>;
  /** `topic` null: all actors. @throws AppError input.bad, actor.unknown */
  past(seq: number, topic: Topic | null): Promise<PastFleet | PastActor>;
  /** The newest `limit` entries about an actor before `before`; null: before the end. */
  timeline(topic: Topic, page: { before: number | null; limit: number }): Promise<TimelinePage>;
  /** One entry, not truncated. Null: there is none at `seq`, or it is about no actor. */
  entry(seq: number): Promise<TimelineEntry | null>;
  policies(): Promise<CurrentPolicies>;
  readonly whatIf: Compare;
  /** A worker's history, as lines for `stopgate replay`. */
  replayLines(worker: string): Promise<string[]>;
};

export function createInspection(host: Host, log: EventLog): Inspection {
  const { fleet } = host;
  const headSeq = () => log.lastSeq();
  const watch = createSharedWatcher(fleet);
  const cursor = createFoldCursor(fleet.name, log);
  return {
    live: createLive({ fleet, watch, logNow: host.logNow, foldedSeq: host.foldedSeq, headSeq, observe: host.observe }),
    feed: createFeed(fleet, watch),
    range: () => log.range(),
    past: (seq, topic) => readPast(cursor, seq, topic),
    timeline: (topic, page) => readTimeline(log, fleet.name, topic, page),
    entry: (seq) => readEntryAt(log, seq),
    policies: () => readCurrentPolicies(log, fleet.name),
    whatIf: createCompare(fleet.name, log),
    replayLines: (worker) => readReplayLines(log, fleet.name, worker),
  };
}

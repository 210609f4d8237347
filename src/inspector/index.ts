/** What the inspector may see of a replica: the fleet live, its past, and what was said of each actor. */
import type { Host } from '../host/host.ts';
import type { EventLog, LogBounds } from '../nats/event-log.ts';
import { readLines, readTimeline } from './history.ts';
import { createLive, type Live } from './live.ts';
import { createPast, type Past } from './past.ts';
import { type PolicyText, readPolicyText } from './policy-text.ts';
import { createFeed, type Feed } from './stately/feed.ts';
import { type TimelineEntry, timelineEntry } from './timeline.ts';
import { createWatch } from './watch.ts';
import { type AskWhatIf, createAskWhatIf } from './what-if.ts';

export type Inspection = {
  readonly live: Live;
  readonly past: Past;
  /** For inspectors of XState. */
  readonly feed: Feed;
  range(): Promise<LogBounds>;
  timeline(
    entity: 'worker' | 'task',
    id: string,
    page: { before: number | null; limit: number },
  ): Promise<{ entries: TimelineEntry[]; before: number | null }>;
  /** One entry, whole. Null: none of anyone stands there. */
  entry(seq: number): Promise<TimelineEntry | null>;
  /** The policies in force, as a text. */
  policy(): Promise<PolicyText>;
  readonly whatIf: AskWhatIf;
  /** A worker's entries, as `stopgate replay` takes them. */
  lines(worker: string): Promise<string[]>;
};

export function createInspection(host: Host, log: EventLog): Inspection {
  const { fleet } = host;
  const headSeq = () => log.lastSeq();
  const watch = createWatch(fleet);
  return {
    live: createLive({ fleet, watch, logNow: host.logNow, foldedSeq: host.foldedSeq, headSeq, observe: host.observe }),
    past: createPast(fleet.name, log),
    feed: createFeed(fleet, watch),
    range: () => log.range(),
    timeline: (entity, id, page) => readTimeline(log, { fleet: fleet.name, entity, id }, page),
    entry: (seq) => readEntryAt(log, seq),
    policy: () => readPolicyText(log, fleet.name),
    whatIf: createAskWhatIf(fleet.name, log),
    lines: (worker) => readLines(log, fleet.name, worker),
  };
}

async function readEntryAt(log: EventLog, seq: number): Promise<TimelineEntry | null> {
  let found: TimelineEntry | null = null;
  await log.history({ fromSeq: seq, toSeq: seq }, (message) => {
    found = timelineEntry(message);
  });
  return found;
}

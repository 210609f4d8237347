/** What the inspector may see of a replica: the fleet live, its past, and what was said of each actor. */
import type { Host } from '../host/host.ts';
import type { EventLog, LogRange } from '../nats/event-log.ts';
import { readLines, readTimeline } from './history.ts';
import { createLive, type Live } from './live.ts';
import { createPast, type Past } from './past.ts';
import { createFeed, type Feed } from './stately/feed.ts';
import type { TimelineEntry } from './timeline.ts';
import { createWatch } from './watch.ts';

export type Inspection = {
  readonly live: Live;
  readonly past: Past;
  /** For inspectors of XState. */
  readonly feed: Feed;
  range(): Promise<LogRange>;
  timeline(
    entity: 'worker' | 'task',
    id: string,
    page: { before: number | null; limit: number },
  ): Promise<{ entries: TimelineEntry[]; before: number | null }>;
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
    lines: (worker) => readLines(log, fleet.name, worker),
  };
}

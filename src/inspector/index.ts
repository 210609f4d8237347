/** What the inspector may see of a replica: the fleet live, its past, and what was said of each actor. */
import type { Host } from '../host/host.ts';
import type { EventLog, LogRange } from '../nats/event-log.ts';
import { readLines, readTimeline } from './history.ts';
import { createLive, type Live } from './live.ts';
import { createPast, type Past } from './past.ts';
import type { TimelineEntry } from './timeline.ts';

export type Inspection = {
  readonly live: Live;
  readonly past: Past;
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
  return {
    live: createLive({ fleet, logNow: host.logNow, foldedSeq: host.foldedSeq, headSeq, observe: host.observe }),
    past: createPast(fleet.name, log),
    range: () => log.range(),
    timeline: (entity, id, page) => readTimeline(log, { fleet: fleet.name, entity, id }, page),
    lines: (worker) => readLines(log, fleet.name, worker),
  };
}

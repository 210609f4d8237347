/**
 * Sends the changes of a tick to all pages. Pages that keep up get the same JSON; others get everything they missed.
 */
import { type Fleet, viewTask, type WorkerView } from '../../../machines/index.ts';
import { createGuarded, type Observe } from '../../host/fold/observers.ts';
import type { Logger } from '../../log.ts';
import { allRows, rowsOf } from '../fleet-rows.ts';
import { type Delta, type Focus, type Full, toTruncatedJson } from '../messages.ts';
import type { MoveCounts } from '../moves.ts';
import type { Packed } from '../rows.ts';
import type { OutageNews } from '../service-messages.ts';
import { addNames, type ChangedNames, countNames, type TickChanges } from './changes.ts';
import { keepForLater, type LivePage, takeNews } from './page.ts';

/** The parts of a replica that the live feed needs. */
export type LiveSource = {
  readonly fleet: Fleet;
  readonly logNow: () => number;
  readonly viewWorker: (worker: string) => WorkerView | null;
  readonly foldedSeq: () => number;
  /** Asks the log for its newest entry. */
  readonly headSeq: () => Promise<number>;
  /** Returns why nothing can be decided now, or null. */
  readonly outage: () => (OutageNews & { readonly error: Error }) | null;
  readonly observe: Observe;
  readonly logger: Logger;
};

type Broadcast = {
  send(changes: TickChanges, tick: { readonly ticks: number; readonly isBeat: boolean }): void;
  /** Asks the log for its newest entry, in the background. */
  refreshHead(): void;
  /** Notes that entry `seq` was read, so the log has at least that many entries. */
  sawEntry(seq: number): void;
};

/** The view of a selected actor is large, so it is sent only every second tick. */
const topicEvery = 2;

export function createBroadcast(source: LiveSource, pages: ReadonlySet<LivePage>, moves: MoveCounts): Broadcast {
  const { fleet, foldedSeq, logNow } = source;
  const guarded = createGuarded(source.logger, 'a message to a page');
  let headSeq = 0;
  const sawEntry = (seq: number) => {
    headSeq = Math.max(headSeq, seq);
  };
  const head = () => {
    const found = source.outage();
    return {
      seq: foldedSeq(),
      nowMs: logNow(),
      headSeq: Math.max(headSeq, foldedSeq()),
      fault: found?.error.message ?? null,
      outage: found === null ? null : { kind: found.kind, sinceMs: found.sinceMs, judges: found.judges },
    };
  };
  const full = (): Full => ({ ...head(), ...allRows(fleet), moves: moves.read(logNow()) });
  const delta = (names: ChangedNames, { transitions, entries }: TickChanges): Delta => ({
    ...head(),
    ...nonEmpty(rowsOf(fleet, names)),
    ...(transitions.length > 0 ? { transitions } : {}),
    entries,
  });
  const sendTopics = ({ client, topics }: LivePage) => {
    for (const news of topics.values()) {
      if (!news.changed) continue;
      const { entity, id } = news.topic;
      const view = entity === 'worker' ? source.viewWorker(id) : viewTask(fleet, id);
      client.send(entity, toTruncatedJson({ id, view, ...takeNews(news) } satisfies Focus), null);
    }
  };
  return {
    sawEntry,
    refreshHead: () => void source.headSeq().then(sawEntry, () => {}),
    send(changes, { ticks, isBeat }) {
      const seq = foldedSeq();
      const isDue = isBeat || countNames(changes.names) > 0;
      let shared: string | null = null;
      const sendTo = (page: LivePage) => {
        const { client, missed } = page;
        if (missed === 'all') client.send('full', JSON.stringify(full()), seq);
        else if (missed !== null) {
          addNames(missed, changes.names);
          client.send('delta', JSON.stringify(delta(missed, changes)), seq);
        } else if (isDue) {
          shared ??= JSON.stringify(delta(changes.names, changes));
          client.send('delta', shared, seq);
        }
        page.missed = null;
        if (ticks % topicEvery === 0) sendTopics(page);
      };
      // Guard each page separately, so that a failure of one does not affect the others.
      for (const page of pages)
        if (page.client.isReady()) guarded(() => sendTo(page));
        else keepForLater(page, changes.names);
    },
  };
}

const nonEmpty = (rows: Packed): Partial<Packed> =>
  Object.fromEntries(Object.entries(rows).filter(([, list]) => list.length > 0));

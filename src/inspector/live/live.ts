/**
 * Live: one feed for all pages. The fold reports which actors changed; ten times a second their rows are sent, encoded
 * once for all pages that keep up. For a page that does not read, only names are kept, so that a stalled page never
 * costs more memory than the fleet has names.
 */
import { type Fleet, type FleetWatcher, topicOf, viewTask, type WorkerView } from '../../../machines/index.ts';
import { createGuarded, type Observe } from '../../host/fold/observers.ts';
import type { Logger } from '../../log.ts';
import { rowsOf, wholeOf } from '../fleet-rows.ts';
import { type Delta, type Focus, type Full, type Topic, type Transition, toTruncatedJson } from '../messages.ts';
import { createMoves, type MoveCounts } from '../moves.ts';
import type { Packed } from '../rows.ts';
import type { OutageNews } from '../service-messages.ts';
import {
  addNames,
  type ChangedNames,
  type Changes,
  countNames,
  createChanges,
  createRecentChanges,
  type TickChanges,
} from './changes.ts';
import {
  addEntry,
  createPage,
  hasTopics,
  keepForLater,
  type LiveClient,
  type LivePage,
  newsAbout,
  takeNews,
} from './page.ts';

export type Live = {
  /** `afterSeq`: what the page has already received. @returns a function that leaves */
  join(client: LiveClient, topics: readonly Topic[], afterSeq: number | null): () => void;
  readonly size: number;
  close(): void;
};

const tickMs = 100;
/** Without changes, a message every so many ticks shows that the service is alive. */
const beatEvery = 10;
/** The feed goes on this long without a page, since a reloaded page comes back at once. */
const lingerMs = 60_000;

export function createLive(source: LiveSource): Live {
  const { foldedSeq } = source;
  const pages = new Set<LivePage>();
  const changes = createChanges();
  const recent = createRecentChanges();
  const moves = createMoves(source.logNow());
  const ignoreMoves = source.observe(countMoves(moves, source.fleet));
  const guarded = createGuarded(source.logger, 'the feed of the pages');
  const broadcast = createBroadcast(source, pages, moves);
  let ticks = 0;

  const tick = () => {
    ticks += 1;
    const isBeat = ticks % beatEvery === 0;
    if (isBeat) broadcast.refreshHead();
    const taken = changes.take();
    if (countNames(taken.names) > 0) recent.add(foldedSeq(), taken.names);
    broadcast.send(taken, { ticks, isBeat });
  };
  const activity = createActivity(() => {
    const ignore = source.observe({
      ...recordTransitions(pages, changes),
      pending(worker) {
        for (const page of pages) {
          const news = newsAbout(page, 'worker', worker);
          if (news !== undefined) news.changed = true;
        }
      },
      folded(message) {
        changes.entry();
        broadcast.sawEntry(message.seq);
        if (!hasTopics(pages)) return;
        const { entity, id } = topicOf(message.subject);
        for (const page of pages) {
          const news = newsAbout(page, entity, id);
          if (news !== undefined) addEntry(page.client, news, message);
        }
      },
    });
    const timer = setInterval(() => guarded(tick), tickMs);
    return () => {
      clearInterval(timer);
      ignore();
      recent.clear();
      changes.take();
    };
  });

  return {
    get size() {
      return pages.size;
    },
    join(client, topics, afterSeq) {
      const missed = afterSeq === null ? null : recent.since(afterSeq, foldedSeq());
      activity.start();
      if (missed !== null) addNames(missed, changes.names());
      const page = createPage(client, topics, missed, afterSeq !== null && afterSeq < foldedSeq());
      pages.add(page);
      return () => {
        pages.delete(page);
        if (pages.size === 0) activity.stopLater();
      };
    },
    close() {
      activity.stop();
      ignoreMoves();
    },
  };
}

function countMoves(moves: MoveCounts, fleet: Fleet): FleetWatcher {
  const on =
    (machine: Transition['machine']): FleetWatcher['worker'] =>
    (_id, from, to, event) =>
      moves.add(fleet.nowMs, [{ machine, from, to, event, count: 1 }]);
  return { worker: on('worker'), task: on('task'), queue: () => {} };
}

/** Notes each transition for all pages, and for those that have selected the actor. */
function recordTransitions(pages: ReadonlySet<LivePage>, changes: Changes): FleetWatcher {
  const on =
    (entity: Topic['entity']): FleetWatcher['worker'] =>
    (id, from, to, event) => {
      changes.actor(entity, id, { machine: entity, from, to, event, count: 1 });
      for (const page of pages) {
        const news = newsAbout(page, entity, id);
        if (news !== undefined) news.changed = true;
      }
    };
  return { worker: on('worker'), task: on('task'), queue: (id) => changes.queue(id) };
}

/** Runs while pages are open, and a while longer. @param begin returns a function that ends it */
function createActivity(begin: () => () => void) {
  let end: (() => void) | null = null;
  let linger: NodeJS.Timeout | null = null;
  const keep = () => {
    if (linger !== null) clearTimeout(linger);
    linger = null;
  };
  const stop = () => {
    keep();
    end?.();
    end = null;
  };
  return {
    start() {
      keep();
      end ??= begin();
    },
    stop,
    stopLater() {
      if (end !== null) linger ??= setTimeout(stop, lingerMs).unref();
    },
  };
}

// Sends the changes of a tick to all pages: the same JSON to those that keep up, everything missed to the others.

/** The parts of a replica that the live feed needs. */
type LiveSource = {
  readonly fleet: Fleet;
  readonly logNow: () => number;
  readonly viewWorker: (worker: string) => WorkerView | null;
  readonly foldedSeq: () => number;
  /** The newest entry of the log. */
  readonly headSeq: () => Promise<number>;
  /** Returns why nothing can be decided now, or null. */
  readonly outage: () => (OutageNews & { readonly error: Error }) | null;
  readonly observe: Observe;
  readonly logger: Logger;
};

type Broadcast = {
  send(changes: TickChanges, tick: { readonly ticks: number; readonly isBeat: boolean }): void;
  /** Asks the log for its newest entry. */
  refreshHead(): void;
  /** Entry `seq` was read, so the log has it. */
  sawEntry(seq: number): void;
};

/** The selected actor is sent every so many ticks: its view is large. */
const topicEvery = 2;

function createBroadcast(source: LiveSource, pages: ReadonlySet<LivePage>, moves: MoveCounts): Broadcast {
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
  const full = (): Full => ({ ...head(), ...wholeOf(fleet), moves: moves.read(logNow()) });
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
      // Each page is on its own: what fails for one goes out to the others.
      for (const page of pages)
        if (page.client.isReady()) guarded(() => sendTo(page));
        else keepForLater(page, changes.names);
    },
  };
}

const nonEmpty = (rows: Packed): Partial<Packed> =>
  Object.fromEntries(Object.entries(rows).filter(([, list]) => list.length > 0));

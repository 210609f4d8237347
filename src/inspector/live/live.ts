/**
 * The live feed of all pages. The fold reports which actors changed; ten times a second their rows are encoded once and
 * sent to all pages that keep up. For a stalled page only names are kept, so its memory is bounded by the fleet's
 * names.
 */
import { type Fleet, type FleetWatcher, topicOf } from '../../../machines/index.ts';
import { createGuarded } from '../../host/fold/observers.ts';
import type { Topic, Transition } from '../messages.ts';
import { createMoves, type MoveCounts } from '../moves.ts';
import { createBroadcast, type LiveSource } from './broadcast.ts';
import { addNames, type Changes, countNames, createChanges, createRecentChanges } from './changes.ts';
import { addEntry, createPage, hasTopics, type LiveClient, type LivePage, newsAbout } from './page.ts';

export type Live = {
  /**
   * @param afterSeq the last entry whose changes the page has received, or null for a new page
   * @returns a function to leave
   */
  join(client: LiveClient, topics: readonly Topic[], afterSeq: number | null): () => void;
  readonly size: number;
  close(): void;
};

const tickMs = 100;
/** Without changes, a heartbeat is sent every this many ticks. */
const beatEvery = 10;
/** The feed keeps running this long without a page, because a reloaded page comes right back. */
const lingerMs = 60_000;

export function createLive(source: LiveSource): Live {
  const { foldedSeq } = source;
  const pages = new Set<LivePage>();
  const changes = createChanges();
  const recent = createRecentChanges();
  const moves = createMoves(source.logNow());
  const ignoreMoves = source.observe(countMoves(moves, source.fleet));
  /** The timeline of a selected task has the entries of its holder. */
  const tasksHeldBy = (page: LivePage, worker: string) =>
    [...page.topics.values()].filter(
      ({ topic }) => topic.entity === 'task' && source.fleet.tasks.get(topic.id)?.snapshot.context.worker === worker,
    );
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
          if (entity === 'worker') for (const task of tasksHeldBy(page, id)) addEntry(page.client, task, message);
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
  const watch =
    (machine: Transition['machine']): FleetWatcher['worker'] =>
    (_id, from, to, event) =>
      moves.add(fleet.nowMs, [{ machine, from, to, event, count: 1 }]);
  return { worker: watch('worker'), task: watch('task'), queue: () => {} };
}

/** Records each transition for all pages, and marks the actor as changed for pages that selected it. */
function recordTransitions(pages: ReadonlySet<LivePage>, changes: Changes): FleetWatcher {
  const watch =
    (entity: Topic['entity']): FleetWatcher['worker'] =>
    (id, from, to, event) => {
      changes.actor(entity, id, { machine: entity, from, to, event, count: 1 });
      for (const page of pages) {
        const news = newsAbout(page, entity, id);
        if (news !== undefined) news.changed = true;
      }
    };
  return { worker: watch('worker'), task: watch('task'), queue: (id) => changes.queue(id) };
}

/** Runs while pages are open, and `lingerMs` longer. @param begin starts it and returns a function that ends it */
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

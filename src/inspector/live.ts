/**
 * Live: one feed for all pages. The fold tells it which actors moved; ten times a second what moved goes out as rows,
 * written once for all who keep up. For who does not read, names are kept instead of messages, so that a stalled page
 * costs no more than the fleet has names.
 */
import { type Fleet, type State, topicOf, viewTask, viewWorker, workerStates } from '../../machines/index.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { toCutJson } from './cut.ts';
import { type Rows, rowsOf } from './rows.ts';
import { type TimelineEntry, timelineEntry } from './timeline.ts';
import type { Watch } from './watch.ts';

export type LiveSource = {
  readonly fleet: Fleet;
  readonly watch: Watch;
  readonly logNow: () => number;
  readonly foldedSeq: () => number;
  /** The newest entry of the log. */
  readonly headSeq: () => Promise<number>;
  /** Told of each message of the log after it was folded. */
  readonly observe: (onFolded: ((message: LogMessage) => void) | null) => void;
};
/** One page. `isReady` false: what was sent is still on its way, so nothing more may be. */
export type LiveClient = {
  send(event: string, data: string, seq: number | null): void;
  isReady(): boolean;
};
export type Topic = { readonly entity: 'worker' | 'task'; readonly id: string };
export type Live = {
  /** `afterSeq`: what the page has already seen. @returns leave */
  join(client: LiveClient, topic: Topic | null, afterSeq: number | null): () => void;
  readonly size: number;
  close(): void;
};

const tickMs = 100;
const beatEvery = 10;
const topicEvery = 2;
const entriesMax = 40;
/** What is remembered for pages that come back: as many ticks as make a minute. */
const recentMax = 600;
const lingerMs = 60_000;

type Names = { readonly workers: Set<string>; readonly tasks: Set<string>; readonly queues: Set<string> };
const noNames = (): Names => ({ workers: new Set(), tasks: new Set(), queues: new Set() });
const sizeOf = ({ workers, tasks, queues }: Names) => workers.size + tasks.size + queues.size;
function addNames(to: Names, { workers, tasks, queues }: Names): void {
  for (const it of workers) to.workers.add(it);
  for (const it of tasks) to.tasks.add(it);
  for (const it of queues) to.queues.add(it);
}

type Move = readonly [machine: 'w' | 't', from: number, to: number, event: string];
type Page = {
  readonly client: LiveClient;
  readonly topic: Topic | null;
  /** Null: it has everything up to the last tick. `full`: nothing yet. */
  behind: Names | 'full' | null;
  topicDirty: boolean;
  moved: { from: State; to: State; event: string; atMs: number } | null;
  readonly entries: TimelineEntry[];
  more: number;
};

export function createLive(source: LiveSource): Live {
  const { fleet } = source;
  const pages = new Set<Page>();
  const recent: { readonly seq: number; readonly names: Names }[] = [];
  let dirty = noNames();
  let moves = new Map<string, { move: Move; count: number }>();
  let entries = 0;
  let ticks = 0;
  let headSeq = 0;
  let timer: NodeJS.Timeout | null = null;
  let linger: NodeJS.Timeout | null = null;
  let unwatch = () => {};

  const moved = (machine: 'w' | 't', entity: Topic['entity'], id: string, from: State, to: State, event: string) => {
    const key = `${machine}${from}${to}${event}`;
    const known = moves.get(key);
    if (known !== undefined) known.count += 1;
    else moves.set(key, { move: [machine, workerStates.indexOf(from), workerStates.indexOf(to), event], count: 1 });
    for (const page of pages) {
      if (page.topic?.id !== id || page.topic.entity !== entity) continue;
      page.topicDirty = true;
      page.moved = { from, to, event, atMs: fleet.nowMs };
    }
  };
  const onFolded = (message: LogMessage) => {
    entries += 1;
    headSeq = Math.max(headSeq, message.seq);
    for (const page of pages) {
      if (page.topic === null) continue;
      const { entity, id } = topicOf(message.subject);
      if (id !== page.topic.id || entity !== page.topic.entity) continue;
      page.topicDirty = true;
      if (!page.client.isReady()) {
        // Entries are large, and a page that missed some reads them from the log.
        page.more += 1 + page.entries.splice(0).length;
        continue;
      }
      const entry = timelineEntry(message);
      if (entry === null) continue;
      if (page.entries.push(entry) > entriesMax) {
        page.entries.shift();
        page.more += 1;
      }
    }
  };

  const tick = () => {
    ticks += 1;
    const beat = ticks % beatEvery === 0;
    if (beat)
      void source.headSeq().then(
        (seq) => (headSeq = Math.max(headSeq, seq)),
        () => {},
      );
    const names = dirty;
    const changed = sizeOf(names) > 0;
    let shared: string | null = null;
    const seq = source.foldedSeq();
    if (changed) {
      recent.push({ seq, names });
      if (recent.length > recentMax) recent.shift();
    }
    for (const page of pages) {
      if (!page.client.isReady()) {
        if (page.behind === null) page.behind = noNames();
        if (page.behind !== 'full') addNames(page.behind, names);
        continue;
      }
      if (page.behind === 'full') page.client.send('full', JSON.stringify(head(rowsOf(fleet))), seq);
      else if (page.behind !== null) {
        addNames(page.behind, names);
        page.client.send('delta', JSON.stringify(delta(page.behind)), seq);
      } else if (changed || beat) {
        shared ??= JSON.stringify(delta(names));
        page.client.send('delta', shared, seq);
      }
      page.behind = null;
      if (page.topicDirty && ticks % topicEvery === 0) sendTopic(page);
    }
    dirty = noNames();
    moves = new Map();
    entries = 0;
  };
  const head = (rows: Rows) => {
    const seq = source.foldedSeq();
    return { seq, nowMs: source.logNow(), headSeq: Math.max(headSeq, seq), ...rows };
  };
  const delta = (names: Names) => {
    const rows = Object.entries(rowsOf(fleet, names)).filter(([, list]) => list.length > 0);
    const moved = [...moves.values()].map(({ move, count }) => [...move, count]);
    return { ...head(Object.fromEntries(rows) as Rows), ...(moved.length > 0 ? { moves: moved } : {}), entries };
  };
  const sendTopic = (page: Page) => {
    const { entity, id } = page.topic as Topic;
    const view = entity === 'worker' ? viewWorker(fleet, id, source.logNow()) : viewTask(fleet, id);
    const { moved, more } = page;
    page.client.send(entity, toCutJson({ id, view, moved, entries: page.entries.splice(0), more }), null);
    page.topicDirty = false;
    page.more = 0;
  };

  const start = () => {
    if (linger !== null) clearTimeout(linger);
    linger = null;
    if (timer !== null) return;
    unwatch = source.watch({
      worker(id, from, to, event) {
        dirty.workers.add(id);
        moved('w', 'worker', id, from, to, event);
      },
      task(id, from, to, event) {
        dirty.tasks.add(id);
        moved('t', 'task', id, from, to, event);
      },
      queue: (id) => void dirty.queues.add(id),
    });
    source.observe(onFolded);
    timer = setInterval(tick, tickMs);
  };
  const stop = () => {
    if (timer !== null) clearInterval(timer);
    if (linger !== null) clearTimeout(linger);
    timer = null;
    linger = null;
    unwatch();
    source.observe(null);
    recent.length = 0;
    dirty = noNames();
  };
  /** Null: too long ago, or it was never seen. */
  const changedSince = (seq: number): Names | null => {
    const oldest = recent[0];
    if (seq > source.foldedSeq() || timer === null || oldest === undefined || oldest.seq > seq) return null;
    const names = noNames();
    for (const it of recent) if (it.seq > seq) addNames(names, it.names);
    return names;
  };

  return {
    get size() {
      return pages.size;
    },
    join(client, topic, afterSeq) {
      const missed = afterSeq === null ? null : changedSince(afterSeq);
      start();
      if (missed !== null) addNames(missed, dirty);
      const page: Page = {
        client,
        topic,
        behind: missed ?? 'full',
        topicDirty: topic !== null,
        moved: null,
        entries: [],
        more: 0,
      };
      pages.add(page);
      return () => {
        pages.delete(page);
        // A page that is loaded again comes back at once.
        if (pages.size === 0 && timer !== null) linger ??= setTimeout(stop, lingerMs).unref();
      };
    },
    close: stop,
  };
}

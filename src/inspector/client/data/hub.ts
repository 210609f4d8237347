/**
 * One event stream for all pages of a fleet in this browser, because browsers allow only six connections per host. Runs
 * in a SharedWorker, or in the page if there is none. Forwards messages unchanged and keeps the rows for pages that
 * join.
 */
import type { Delta, Focus, Full, Hello, Topic } from '../../messages.ts';
import { createMoves } from '../../moves.ts';
import { idOf, type PackedRow } from '../../rows.ts';
import { basePath } from './base-path.ts';
import { createEventStream, type StreamEvent } from './event-stream.ts';

type Tell = (message: { readonly event: StreamEvent; readonly text: string }) => void;
const keyOf = ({ entity, id }: Topic): string => `${entity} ${id}`;

const createRows = () => new Map<string, PackedRow>();

/** Keeps the state sent by the shared stream, for pages that join. */
function createKnownFleet() {
  const rows = { workers: createRows(), tasks: createRows(), queues: createRows() };
  const moves = createMoves();
  /** The last message about each followed actor, or '' before the first. */
  const topics = new Map<string, string>();
  let hello: string | null = null;
  let replica: string | null = null;
  let head: Pick<Full, 'seq' | 'nowMs' | 'headSeq' | 'fault'> | null = null;
  let seq: string | null = null;
  const clear = () => {
    for (const all of Object.values(rows)) all.clear();
    topics.clear();
    [hello, replica, head, seq] = [null, null, null, null];
  };
  const apply = (change: Full | Delta) => {
    for (const name of ['workers', 'tasks', 'queues'] as const)
      for (const row of change[name] ?? []) rows[name].set(idOf(row), row);
    if ('last' in change) moves.reset(change.last, change.moves);
    else moves.add(change.nowMs, change.transitions ?? []);
    const { nowMs, headSeq, fault } = change;
    head = { seq: change.seq, nowMs, headSeq, fault };
  };
  return {
    seq: () => seq,
    clear,
    forgetSession(): void {
      hello = null;
    },
    /** @returns whether the stream now comes from another replica */
    add(event: 'hello' | 'full' | 'delta', text: string, id: string): boolean {
      if (id !== '') seq = id;
      if (event === 'hello') {
        const from = (JSON.parse(text) as Hello).replica;
        const isOther = replica !== null && replica !== from && seq !== null;
        if (isOther) clear();
        [hello, replica] = [text, from];
        return isOther;
      }
      const change: Full | Delta = JSON.parse(text);
      if (event === 'full') for (const all of Object.values(rows)) all.clear();
      apply(change);
      return false;
    },
    addTopic(entity: Topic['entity'], text: string): string {
      const { id }: Focus = JSON.parse(text);
      const key = keyOf({ entity, id });
      topics.set(key, text);
      return key;
    },
    topic: (topic: Topic): string | undefined => topics.get(keyOf(topic)) || undefined,
    follows: (topic: Topic): boolean => topics.has(keyOf(topic)),
    follow(wanted: readonly Topic[]): void {
      const before = new Map(topics);
      topics.clear();
      for (const topic of wanted) topics.set(keyOf(topic), before.get(keyOf(topic)) ?? '');
    },
    introduce(tell: Tell): void {
      if (hello !== null) tell({ event: 'hello', text: hello });
      if (head === null) return;
      const [workers, tasks, queues] = [rows.workers, rows.tasks, rows.queues].map((all) => [...all.values()]);
      const full = { ...head, workers, tasks, queues, last: moves.last(), moves: moves.read(head.nowMs) };
      tell({ event: 'full', text: JSON.stringify(full) });
    },
  };
}

/**
 * Maximum number of open streams, one per fleet. Browsers allow six connections per host, and requests need some too.
 * Counted with the Web Locks of the origin.
 */
const streamsMax = 4;

type StreamSlot = {
  /** @returns whether a stream may be opened. Stays true while the slot is held. */
  take(): Promise<boolean>;
  free(): void;
};

function createStreamSlot(): StreamSlot {
  let release: (() => void) | null = null;
  const tryLock = (name: string) =>
    new Promise<boolean>((tell) => {
      const hold = (lock: Lock | null) => {
        tell(lock !== null);
        return lock === null
          ? undefined
          : new Promise<void>((done) => {
              release = done;
            });
      };
      navigator.locks.request(name, { ifAvailable: true }, hold).catch(() => tell(true));
    });
  return {
    async take() {
      // Browsers support locks only over TLS or on localhost.
      if (release !== null || navigator.locks === undefined) return true;
      for (let slot = 1; slot <= streamsMax; slot += 1) if (await tryLock(`stopgate.stream.${slot}`)) return true;
      return false;
    },
    free() {
      release?.();
      release = null;
    },
  };
}

export type ToHub =
  /** Joins, or selects another actor. A page that joins receives the whole fleet. */
  | { readonly select: Topic | null }
  | { readonly leave: true }
  /** The session changed. */
  | { readonly reopen: true }
  /** Sent every second, because a crashed page does not leave. */
  | { readonly alive: true };
export type FromHub =
  | { readonly event: StreamEvent; readonly text: string }
  | { readonly lost: string | null }
  | { readonly locked: true }
  /** Other fleets hold all streams. It is retried. */
  | { readonly crowded: true };
type Port = { postMessage(message: FromHub): void };
type Member = { topic: Topic | null; aliveMs: number };

/** The service's limit per stream. Beyond it, the pages that selected first get no news of their actor. */
const topicsMax = 64;
/** Several minutes, because the timers of hidden pages run only once a minute. */
const goneAfterMs = 180_000;

export function createHub(fleet: string) {
  const pages = new Map<Port, Member>();
  const known = createKnownFleet();
  const tellAll = (message: FromHub) => {
    for (const port of pages.keys()) port.postMessage(message);
  };
  const slot = createStreamSlot();
  const stream = createEventStream({
    onMessage(event, text, id) {
      if (event === 'worker' || event === 'task') {
        const key = known.addTopic(event, text);
        for (const [port, { topic }] of pages)
          if (topic !== null && keyOf(topic) === key) port.postMessage({ event, text });
        return;
      }
      const isOther = known.add(event, text, id);
      tellAll({ event, text });
      // Another replica may serve another log, so the known rows may be wrong.
      if (isOther) openSoon();
    },
    onLost: (lost) => tellAll({ lost }),
    onLocked: () => {
      slot.free();
      tellAll({ locked: true });
    },
  });
  let isOpening = false;
  let isCrowded = false;
  /** Deferred, because several pages may change their selection at once. */
  const openSoon = () => {
    if (isOpening) return;
    isOpening = true;
    setTimeout(async () => {
      isCrowded = !(await slot.take());
      isOpening = false;
      if (pages.size === 0) slot.free();
      else if (isCrowded) tellAll({ crowded: true });
      else stream.open(addressOf(fleet, topicsOf(pages.values()), known));
    });
  };
  const leave = (port: Port) => {
    pages.delete(port);
    if (pages.size > 0) return;
    stream.close();
    slot.free();
    known.clear();
  };
  const select = (port: Port, topic: Topic | null) => {
    const isNew = !pages.has(port);
    // Keep the most recent selection last.
    pages.delete(port);
    pages.set(port, { topic, aliveMs: Date.now() });
    if (isNew) known.introduce((message) => port.postMessage(message));
    const text = topic === null ? undefined : known.topic(topic);
    if (topic !== null && text !== undefined) port.postMessage({ event: topic.entity, text });
    if (!stream.isOpen() || (topic !== null && !known.follows(topic))) openSoon();
  };
  const markAlive = (port: Port) => {
    const nowMs = Date.now();
    const member = pages.get(port);
    if (member !== undefined) member.aliveMs = nowMs;
    for (const [other, { aliveMs }] of pages) if (nowMs - aliveMs > goneAfterMs) leave(other);
    if (isCrowded || stream.isDead()) openSoon();
  };
  return {
    onMessage(port: Port, message: ToHub): void {
      if ('select' in message) select(port, message.select);
      else if ('leave' in message) leave(port);
      else if ('reopen' in message) {
        known.forgetSession();
        openSoon();
      } else markAlive(port);
    },
  };
}

function topicsOf(pages: Iterable<Member>): Topic[] {
  const topics = new Map<string, Topic>();
  for (const { topic } of pages) if (topic !== null) topics.set(keyOf(topic), topic);
  return [...topics.values()].slice(-topicsMax);
}

function addressOf(fleet: string, topics: readonly Topic[], known: ReturnType<typeof createKnownFleet>): string {
  known.follow(topics);
  const query = new URLSearchParams(topics.map(({ entity, id }) => [entity, id]));
  const seq = known.seq();
  if (seq !== null) query.set('after', seq);
  return `${basePath()}api/${encodeURIComponent(fleet)}/stream?${query}`;
}

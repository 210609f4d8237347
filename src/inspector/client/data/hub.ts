/**
 * One event stream for all pages of a fleet in this browser, because browsers allow six connections to a host. It runs
 * in a SharedWorker, or in the page itself where there is none. It passes messages on as they come, and keeps the rows,
 * so that a page that joins has them at once.
 */
import type { Topic } from '../../messages.ts';
import { createEventStream, type StreamEvent } from './event-stream.ts';
import { createKnownFleet, keyOf } from './known-fleet.ts';
import { createStreamSlot } from './stream-slot.ts';

export type ToHub =
  /** Joins, or selects another actor; the whole fleet is sent to whoever joins. */
  | { readonly select: Topic | null }
  | { readonly leave: true }
  /** The session is another one. */
  | { readonly reopen: true }
  /** Every few seconds: a page that crashed does not say that it leaves. */
  | { readonly alive: true };
export type FromHub =
  | { readonly event: StreamEvent; readonly text: string }
  | { readonly lost: string | null }
  | { readonly locked: true }
  /** Other fleets have all the streams that may be open. It is tried again. */
  | { readonly crowded: true };
type Port = { postMessage(message: FromHub): void };
type Member = { topic: Topic | null; aliveMs: number };

/** As many as the service takes for one stream. Beyond them the pages that selected first get no news of their actor. */
const topicsMax = 64;
/** A hidden page's timers run once a minute. */
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
      // Another replica may serve another log, which our rows do not belong to.
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
  /** Several pages may change their minds at once. */
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
    // The latest last.
    pages.delete(port);
    pages.set(port, { topic, aliveMs: Date.now() });
    if (isNew) known.introduce((message) => port.postMessage(message));
    const text = topic === null ? undefined : known.topic(topic);
    if (topic !== null && text !== undefined) port.postMessage({ event: topic.entity, text });
    if (!stream.isOpen() || (topic !== null && !known.follows(topic))) openSoon();
  };
  const hearOf = (port: Port) => {
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
      } else hearOf(port);
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
  return `/api/${encodeURIComponent(fleet)}/stream?${query}`;
}

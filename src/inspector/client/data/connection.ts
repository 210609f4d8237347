/** The page's connection to the event stream, shared with other pages (hub.ts). A hidden page disconnects. */
import { effect, signal } from '@preact/signals';
import { isId } from '../../../../machines/values/id.ts';
import type { Delta, Focus, Full, Hello, Topic } from '../../messages.ts';
import type { OutageNews } from '../../service-messages.ts';
import { measure } from '../measure.ts';
import { navigate, route, selected } from '../route.ts';
import { ApiError, fleet, identifyService, locked } from './api.ts';
import { noResponse } from './event-stream.ts';
import { createFleetStore } from './fleet-store.ts';
import { createHub, type FromHub, type ToHub } from './hub.ts';

/** The page's channel to the shared stream. */
type HubPort = { send(message: ToHub): void };

function openHub(fleet: string, onMessage: (message: FromHub) => void): HubPort {
  if (typeof SharedWorker === 'undefined') return openAlone(fleet, onMessage);
  const { port } = new SharedWorker(new URL('./shared-stream.ts', import.meta.url), { type: 'module', name: fleet });
  port.onmessage = ({ data }: MessageEvent<FromHub>) => onMessage(data);
  return { send: (message) => port.postMessage(message) };
}

/** Opens a stream for this page alone, for browsers without SharedWorker. */
function openAlone(fleet: string, onMessage: (message: FromHub) => void): HubPort {
  const hub = createHub(fleet);
  const port = { postMessage: onMessage };
  return { send: (message) => hub.onMessage(port, message) };
}

export const liveFleet = createFleetStore();
export const hello = signal<Hello | null>(null);
/** A `lost` connection is retried. */
export const connection = signal<'connecting' | 'live' | 'lost' | 'paused'>('connecting');
export const connectionProblem = signal<string | null>(null);
/** The latest message about the selected actor. */
export const focus = signal<Focus | null>(null);
/** `receivedMs` is `performance.now()` at the last message. `perSecond` is the rate of entries. */
export const head = signal({ seq: 0, headSeq: 0, receivedMs: 0, perSecond: 0 });
/** Why the service, although connected, decides nothing now. Null while it works. */
export const serviceFault = signal<string | null>(null);
/** Kind and start of that fault. Null while the service works, or if it does not say. */
export const outage = signal<OutageNews | null>(null);
/** Since when the replica lags behind the log, by the log's clock. Null if it does not. */
export const behindSinceMs = signal<number | null>(null);
/** The log's clock, updated every second while the page is live, otherwise frozen. */
export const nowMs = signal(Date.now());
/** Increments every second. */
export const tick = signal(0);
/** Log time of the last message, or null if there was none. */
export const heardMs = signal<number | null>(null);
/** How far the log's clock is ahead of the browser's. */
let aheadMs = 0;

/** Where the page is paused, by hand or because it was hidden for a while. Null while live. */
export const pause = signal<{ readonly seq: number; readonly atMs: number; readonly by: 'hand' | 'hidden' } | null>(
  null,
);
/** The entries missed during the last pause. Set when the page resumes. */
export const gap = signal<{ readonly fromSeq: number; readonly toSeq: number; readonly fromMs: number } | null>(null);
/** Since when the page waits for its first message. */
export const connectingSinceMs = signal(Date.now());

const pauseAfterMs = 30_000;
const silenceMs = 3_500;
const retryMs = 1_500;

let port: HubPort | null = null;
/** A pause that ends with the next `full` message. */
let ending: typeof pause.value = null;
let received: { ms: number; entries: number }[] = [];
/**
 * Messages between the pages of this browser. `renewed`: the session changed, so locked pages reconnect. `crowded`: a
 * page waits for a stream, so hidden pages give up theirs.
 */
type PageNews = 'renewed' | 'crowded';
const pages = new BroadcastChannel('stopgate.pages');
const tellPages = (news: PageNews) => pages.postMessage(news);
const crowdedText =
  'This browser also shows other fleets and has no connection left for this one. Close or hide one of their pages, and this one continues.';

export function startConnection(): void {
  effect(() => {
    const topic = selected.value;
    if (fleet.value !== '' && !locked.value && pause.value?.by !== 'hidden') select(topic);
  });
  // Freeze the clock at once instead of at the next tick, so that times do not jump back first.
  effect(() => {
    const stoppedMs = frozenMs();
    if (stoppedMs !== null) nowMs.value = stoppedMs;
  });
  pauseWhileHidden();
  addEventListener('pagehide', () => port?.send({ leave: true }));
  addEventListener('pageshow', (event) => event.persisted && reopen());
  pages.onmessage = ({ data }: MessageEvent<PageNews>) => {
    if (data === 'renewed') void connect();
    else if (document.hidden) leaveWhileHidden();
  };
  setInterval(() => {
    tick.value += 1;
    if (connection.value === 'live' && performance.now() - head.value.receivedMs > silenceMs) connection.value = 'lost';
    nowMs.value = frozenMs() ?? serviceMs();
    port?.send({ alive: true });
  }, 1_000);
  void connect();
}

/** The current time by the service's clock, even while the page is frozen. */
export const serviceMs = (): number => Date.now() + aheadMs;

/** The time at which the page is frozen, or null while it is live. */
const frozenMs = (): number | null => pause.value?.atMs ?? (connection.value === 'live' ? null : heardMs.value);

/** Call this after signing in or out: the service checks the session only when a stream is opened. */
export function renewSession(): void {
  tellPages('renewed');
  connection.value = 'connecting';
  port?.send({ reopen: true });
  reopen();
}

/** Returns to the live state. */
export function reopen(): void {
  connection.value = 'connecting';
  connectionProblem.value = null;
  connectingSinceMs.value = Date.now();
  if (fleet.value === '') return void connect();
  ending = pause.peek();
  if (route.peek().at === null) navigate({ paused: null }, 'replace');
  port?.send({ leave: true });
  pause.value = null;
  select(selected.value);
}

/** Freezes the page, which keeps counting new entries. */
export function pauseByHand(): void {
  if (connection.peek() !== 'live') return;
  const { seq } = head.peek();
  pause.value = { seq, atMs: nowMs.peek(), by: 'hand' };
  connection.value = 'paused';
  if (route.peek().at === null) navigate({ paused: seq }, 'replace');
}

function pauseWhileHidden(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) {
      timer = setTimeout(leaveWhileHidden, pauseAfterMs);
    } else if (pause.peek()?.by === 'hidden') reopen();
    else if (pause.peek()?.by === 'hand') select(selected.peek());
  });
}

function leaveWhileHidden(): void {
  port?.send({ leave: true });
  pause.value ??= { seq: head.peek().seq, atMs: nowMs.peek(), by: 'hidden' };
  connection.value = 'paused';
}

/** Identifies the service. Once the fleet is known, the effect in `startConnection` joins the stream. */
async function connect(): Promise<void> {
  try {
    await identifyService();
  } catch (error) {
    connection.value = 'lost';
    const isSilent = error instanceof ApiError && error.status === 0;
    connectionProblem.value = isSilent ? noResponse : (error as Error).message;
    if (!locked.value) setTimeout(() => void connect(), retryMs);
  }
}

function select(topic: Topic | null): void {
  // The service would refuse the whole stream because of an invalid id.
  const isValid = topic !== null && isId(topic.id);
  if (topic !== null && !isValid) focus.value = { id: topic.id, view: null, entries: [], omitted: 0 };
  else focus.value = focus.peek()?.id === topic?.id ? focus.peek() : null;
  port ??= openHub(fleet.peek(), onMessage);
  port.send({ select: isValid ? topic : null });
}

function onMessage(message: FromHub): void {
  if ('locked' in message) {
    locked.value = true;
    return;
  }
  if ('crowded' in message) {
    if (pause.peek() === null) connection.value = 'connecting';
    connectionProblem.value = crowdedText;
    tellPages('crowded');
    return;
  }
  if ('lost' in message) {
    if (pause.peek() === null) connection.value = 'lost';
    connectionProblem.value = message.lost ?? connectionProblem.peek();
    return;
  }
  measure('apply', () => apply(message.event, JSON.parse(message.text)));
}

function apply(event: Extract<FromHub, { event: unknown }>['event'], data: unknown): void {
  const isPaused = pause.peek() !== null;
  if (event === 'hello') {
    hello.value = data as Hello;
    locked.value = false;
  } else if (event === 'full' || event === 'delta') {
    const change = data as Full | Delta;
    const isFull = event === 'full';
    if (!isPaused && (isFull || hasRows(change as Delta))) liveFleet.apply(change, isFull);
    if (isFull && !isPaused) endPause(change.seq);
    onHead(change, isFull ? 0 : (change as Delta).entries, isPaused);
  } else if (!isPaused || focus.peek()?.id !== (data as Focus).id) focus.value = data as Focus;
}

function endPause(toSeq: number): void {
  if (ending !== null && toSeq > ending.seq) gap.value = { fromSeq: ending.seq, toSeq, fromMs: ending.atMs };
  ending = null;
}

const hasRows = ({ workers, tasks, queues, transitions }: Delta): boolean =>
  [workers, tasks, queues, transitions].some((list) => list !== undefined);

function onHead(
  { seq, headSeq, nowMs: logNowMs, fault, outage: reported }: Full | Delta,
  entries: number,
  isPaused: boolean,
): void {
  aheadMs = logNowMs - Date.now();
  heardMs.value = logNowMs;
  const ms = performance.now();
  received = received.filter((sample) => sample.ms > ms - 2_000);
  if (entries > 0) received.push({ ms, entries });
  const perSecond = received.reduce((sum, sample) => sum + sample.entries, 0) / 2;
  head.value = { seq, headSeq, receivedMs: ms, perSecond };
  connectionProblem.value = null;
  serviceFault.value = fault;
  outage.value = reported;
  behindSinceMs.value = headSeq <= seq ? null : (behindSinceMs.peek() ?? logNowMs);
  if (!isPaused) connection.value = 'live';
}

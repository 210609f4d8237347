/** The page's one event stream: opened, watched and reopened; closed while the page is hidden. */
import { effect, signal } from '@preact/signals';
import { isId } from '../../../../machines/values/id.ts';
import type { Delta, Focus, Full, Hello } from '../../messages.ts';
import { measure } from '../measure.ts';
import { selected } from '../route.ts';
import { ApiError, apiPath, fleet, identifyService, locked } from './api.ts';
import { createFleetStore } from './fleet-store.ts';

export const liveFleet = createFleetStore();
export const hello = signal<Hello | null>(null);
/** `lost`: it is retried; `paused`: the page has been hidden for a while. */
export const connection = signal<'connecting' | 'live' | 'lost' | 'paused'>('connecting');
export const connectionProblem = signal<string | null>(null);
/** The selected actor, as the stream sends it. */
export const focus = signal<Focus | null>(null);
/** `receivedMs`: `performance.now()` of the last message; `perSecond`: entries. */
export const head = signal({ seq: 0, headSeq: 0, receivedMs: 0, perSecond: 0 });
/** The log's clock, updated once a second. */
export const nowMs = signal(Date.now());
/** How far the log's clock is ahead of the browser's. */
let aheadMs = 0;

const pauseAfterMs = 30_000;
const silenceMs = 3_500;
const retryMs = 1_500;

let source: EventSource | null = null;
let retry: ReturnType<typeof setTimeout> | undefined;
let lastSeq: number | null = null;
let received: { ms: number; entries: number }[] = [];

export function startConnection(): void {
  effect(() => {
    const topic = selected.value;
    if (fleet.value !== '' && !locked.value && connection.peek() !== 'paused') open(topic);
  });
  pauseWhileHidden();
  setInterval(() => {
    nowMs.value = Date.now() + aheadMs;
    if (connection.value === 'live' && performance.now() - head.value.receivedMs > silenceMs) connection.value = 'lost';
  }, 1_000);
  void connect();
}

export function reopen(): void {
  connection.value = 'connecting';
  if (fleet.value === '') void connect();
  else open(selected.value);
}

function pauseWhileHidden(): void {
  let pause: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(pause);
    if (document.hidden) {
      pause = setTimeout(() => {
        close();
        connection.value = 'paused';
      }, pauseAfterMs);
    } else if (connection.value === 'paused') reopen();
  });
}

/** Once the fleet is known, the effect above opens the stream. */
async function connect(): Promise<void> {
  try {
    await identifyService();
  } catch (error) {
    onFailure(error);
  }
}

/** The browser reconnects by itself until it gets a response; a response that is not a stream ends that. */
async function reconnect(): Promise<void> {
  try {
    await identifyService();
    open(selected.peek());
  } catch (error) {
    onFailure(error);
  }
}

function onFailure(error: unknown): void {
  connection.value = 'lost';
  connectionProblem.value = error instanceof ApiError ? error.message : String(error);
  if (!locked.value) retry = setTimeout(() => void reconnect(), retryMs);
}

function close(): void {
  clearTimeout(retry);
  source?.close();
  source = null;
}

function open(topic: typeof selected.value): void {
  close();
  // An invalid id would make the service refuse the whole stream.
  const isValid = topic !== null && isId(topic.id);
  if (topic !== null && !isValid) focus.value = { id: topic.id, view: null, entries: [], omitted: 0 };
  else focus.value = focus.peek()?.id === topic?.id ? focus.peek() : null;
  const query = new URLSearchParams();
  if (isValid) query.set(topic.entity, topic.id);
  if (lastSeq !== null) query.set('after', String(lastSeq));
  const text = query.toString();
  const opened = new EventSource(apiPath(`stream${text === '' ? '' : `?${text}`}`));
  source = opened;
  listen(opened);
  opened.onerror = () => {
    if (connection.value !== 'paused') connection.value = 'lost';
    if (opened.readyState !== EventSource.CLOSED || opened !== source) return;
    retry = setTimeout(() => void reconnect(), retryMs);
  };
}

function listen(opened: EventSource): void {
  const on = <Data>(event: string, apply: (data: Data) => void) =>
    opened.addEventListener(event, ({ data, lastEventId }: MessageEvent<string>) => {
      if (lastEventId !== '') lastSeq = Number(lastEventId);
      measure('apply', () => apply(JSON.parse(data)));
    });
  on<Hello>('hello', onHello);
  on<Full>('full', (data) => {
    liveFleet.apply(data, true);
    onHead(data, 0);
  });
  on<Delta>('delta', (data) => {
    const { workers, tasks, queues, transitions } = data;
    if ([workers, tasks, queues, transitions].some((it) => it !== undefined)) liveFleet.apply(data, false);
    onHead(data, data.entries);
  });
  for (const event of ['worker', 'task'])
    on<Focus>(event, (data) => {
      focus.value = data;
    });
}

function onHello(data: Hello): void {
  const isOther = hello.peek() !== null && hello.peek()?.replica !== data.replica;
  hello.value = data;
  if (!isOther || lastSeq === null) return;
  // Another replica may serve another log, which our rows do not belong to.
  lastSeq = null;
  open(selected.peek());
}

function onHead({ seq, headSeq, nowMs: logNowMs }: Full | Delta, entries: number): void {
  aheadMs = logNowMs - Date.now();
  const ms = performance.now();
  received = received.filter((it) => it.ms > ms - 2_000);
  if (entries > 0) received.push({ ms, entries });
  const perSecond = received.reduce((sum, it) => sum + it.entries, 0) / 2;
  head.value = { seq, headSeq, receivedMs: ms, perSecond };
  connectionProblem.value = null;
  connection.value = 'live';
}

/** The one stream of the page: opened, watched, opened again; and closed while nobody looks. */
import { effect, signal } from '@preact/signals';
import { isId } from '../../../machines/values/id.ts';
import type { Delta, Focus, Full, Hello } from '../messages.ts';
import { ApiError, apiPath, fleet, locked, meet } from './api.ts';
import { createFleetStore } from './fleet-store.ts';
import { measure } from './measure.ts';
import { selected } from './place.ts';

export const live = createFleetStore();
export const hello = signal<Hello | null>(null);
/** `lost`: it will be tried again; `asleep`: nobody has looked for a while. */
export const link = signal<'opening' | 'live' | 'lost' | 'asleep'>('opening');
export const linkProblem = signal<string | null>(null);
/** The selected actor, as the stream tells of it. */
export const focus = signal<Focus | null>(null);
export const head = signal({ seq: 0, headSeq: 0, heardMs: 0, perSecond: 0 });
/** The log's clock, once a second, and what it is ahead of ours. */
export const nowMs = signal(Date.now());
let aheadMs = 0;

const hiddenMs = 30_000;
const silentMs = 3_500;
const againMs = 1_500;

let source: EventSource | null = null;
let retry: ReturnType<typeof setTimeout> | undefined;
let lastSeq: number | null = null;
let entriesIn: { ms: number; entries: number }[] = [];

export function startConnection(): void {
  let sleep: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const topic = selected.value;
    if (fleet.value !== '' && !locked.value && link.peek() !== 'asleep') open(topic);
  });
  document.addEventListener('visibilitychange', () => {
    clearTimeout(sleep);
    if (document.hidden) {
      sleep = setTimeout(() => {
        close();
        link.value = 'asleep';
      }, hiddenMs);
    } else if (link.value === 'asleep') reopen();
  });
  setInterval(() => {
    nowMs.value = Date.now() + aheadMs;
    if (link.value === 'live' && performance.now() - head.value.heardMs > silentMs) link.value = 'lost';
  }, 1_000);
  void begin();
}

export function reopen(): void {
  link.value = 'opening';
  if (fleet.value === '') void begin();
  else open(selected.value);
}

async function begin(): Promise<void> {
  try {
    await meet();
  } catch (error) {
    refused(error);
  }
}

function close(): void {
  clearTimeout(retry);
  source?.close();
  source = null;
}

function open(topic: typeof selected.value): void {
  close();
  // What can be nobody's name would be refused, and the whole stream with it.
  const isName = topic !== null && isId(topic.id);
  if (topic !== null && !isName) focus.value = { id: topic.id, view: null, moved: null, entries: [], more: 0 };
  else focus.value = focus.peek()?.id === topic?.id ? focus.peek() : null;
  const query = new URLSearchParams();
  if (isName) query.set(topic.entity, topic.id);
  if (lastSeq !== null) query.set('after', String(lastSeq));
  const text = query.toString();
  const opened = new EventSource(apiPath(`stream${text === '' ? '' : `?${text}`}`));
  source = opened;
  const on = <Data>(event: string, take: (data: Data) => void) =>
    opened.addEventListener(event, ({ data, lastEventId }: MessageEvent<string>) => {
      if (lastEventId !== '') lastSeq = Number(lastEventId);
      measure('take', () => take(JSON.parse(data)));
    });
  on<Hello>('hello', (data) => {
    const isAnother = hello.peek() !== null && hello.peek()?.replica !== data.replica;
    hello.value = data;
    if (!isAnother || lastSeq === null) return;
    // It may serve another log, of which our rows tell nothing.
    lastSeq = null;
    open(selected.peek());
  });
  on<Full>('full', (data) => {
    live.apply(data, true);
    heard(data, 0);
  });
  on<Delta>('delta', (data) => {
    if (data.workers !== undefined || data.tasks !== undefined || data.queues !== undefined || data.moves !== undefined)
      live.apply(data, false);
    heard(data, data.entries);
  });
  on<Focus>('worker', (data) => told(data));
  on<Focus>('task', (data) => told(data));
  opened.onerror = () => {
    if (link.value !== 'asleep') link.value = 'lost';
    if (opened.readyState !== EventSource.CLOSED || opened !== source) return;
    retry = setTimeout(() => void tryAgain(), againMs);
  };
}

/** The browser tries again by itself as long as nobody answers; an answer that is no stream ends that. */
async function tryAgain(): Promise<void> {
  try {
    await meet();
    open(selected.peek());
  } catch (error) {
    refused(error);
  }
}

function refused(error: unknown): void {
  link.value = 'lost';
  linkProblem.value = error instanceof ApiError ? error.message : String(error);
  if (!locked.value) retry = setTimeout(() => void tryAgain(), againMs);
}

function told(data: Focus): void {
  focus.value = data;
}

function heard({ seq, headSeq, nowMs: theirs }: Full | Delta, entries: number): void {
  aheadMs = theirs - Date.now();
  const ms = performance.now();
  entriesIn = entriesIn.filter((it) => it.ms > ms - 2_000);
  if (entries > 0) entriesIn.push({ ms, entries });
  const perSecond = entriesIn.reduce((sum, it) => sum + it.entries, 0) / 2;
  head.value = { seq, headSeq, heardMs: ms, perSecond };
  linkProblem.value = null;
  link.value = 'live';
}

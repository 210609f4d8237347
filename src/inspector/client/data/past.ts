/**
 * Time travel: loads the fleet at the entry in the route, folded by the service. Sends one request at a time; if
 * several entries were requested meanwhile, only the latest is loaded.
 */
import { computed, effect, signal } from '@preact/signals';
import type { TaskView, WorkerView } from '../../../../machines/index.ts';
import type { Moment, PastActor, PastFleet } from '../../messages.ts';
import { navigate, route, selected } from '../route.ts';
import type { TravelTarget } from '../time-travel/travel-target.ts';
import { askPatiently, fleet, get, type Progress } from './api.ts';
import { focus, head, liveFleet, nowMs, pause, reopen } from './connection.ts';
import { createFleetStore } from './fleet-store.ts';

type LogRange = {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly firstMs: number;
  readonly lastMs: number;
};

const pastFleet = createFleetStore();
export const logRange = signal<LogRange | null>(null);
/** The entry whose state is loaded. */
export const moment = signal<Moment | null>(null);
export const pastProblem = signal<string | null>(null);
const pastView = signal<{ id: string; seq: number; view: WorkerView | TaskView | null } | null>(null);

export const isPast = computed(() => route.value.at !== null);
/** The fleet on screen, live or past. */
export const shownFleet = computed(() => (isPast.value ? pastFleet : liveFleet));
/** The time on screen, by the log's clock. */
export const shownMs = computed(() => {
  if (!isPast.value) return nowMs.value;
  const entryMs = moment.value?.atMs ?? leftMs;
  // Nothing has happened between that entry and the time that was asked for.
  return Math.max(entryMs, moment.value?.seq === route.value.at ? (route.value.time ?? 0) : 0);
});
/** When the live fleet was left. Its rows are shown dimmed until those of the past are loaded. */
let leftMs = 0;
/** View of the selected actor. Undefined while loading, null if unknown. */
export const shownView = computed((): WorkerView | TaskView | null | undefined => {
  const id = selected.value?.id;
  if (isPast.value && pastView.value?.id === id) return pastView.value?.view;
  if (isPast.value && moment.value !== null) return undefined;
  return focus.value?.id === id ? focus.value?.view : undefined;
});

/** Progress of the current fold, or null. */
export const pastProgress = signal<Progress | null>(null);
let loading = new AbortController();

let wanted: { at: number; topic: typeof selected.value } | null = null;
let busy = false;
let loadingAt: number | null = null;
/** Whether the page already is in the past. */
let isEntered = false;

export function startPast(): void {
  effect(() => {
    const { at } = route.value;
    if (at === null || fleet.value === '') {
      wanted = null;
      loading.abort();
      pastProblem.value = pastView.value = moment.value = null;
      isEntered = false;
      return;
    }
    if (!isEntered && liveFleet.loaded.peek()) {
      leftMs = nowMs.peek();
      pastFleet.adopt(liveFleet);
    }
    isEntered = true;
    const isOther = wanted?.at !== at && loadingAt !== at;
    wanted = { at, topic: selected.value };
    // Abort an outdated request. The service continues from where it stopped.
    if (busy && isOther) loading.abort();
    if (!busy) void load();
  });
}

async function load(): Promise<void> {
  busy = true;
  while (wanted !== null) {
    const { at, topic } = wanted;
    wanted = null;
    loadingAt = at;
    loading = new AbortController();
    try {
      if (logRange.peek() === null || at > (logRange.peek()?.lastSeq ?? 0)) logRange.value = await get('range');
      if (moment.peek()?.seq !== at) {
        const past = await ask<PastFleet>(`at/${at}`);
        pastFleet.apply(past, true);
        // Update both together, so that the panel is never empty.
        if (topic !== null) pastView.value = await readActor(at, topic);
        moment.value = past;
        pastProgress.value = null;
      } else if (topic !== null) pastView.value = await readActor(at, topic);
      pastProblem.value = null;
    } catch (error) {
      if (!loading.signal.aborted) pastProblem.value = (error as Error).message;
    }
    pastProgress.value = null;
  }
  loadingAt = null;
  busy = false;
}

const ask = <Body>(path: string): Promise<Body> =>
  askPatiently(path, undefined, loading.signal, (progress) => {
    pastProgress.value = progress;
  });

/** Returns to the entry shown before, or to the live state. */
export function cancelPast(): void {
  const shown = moment.peek();
  if (shown === null) leavePast();
  else navigate({ at: shown.seq }, 'replace');
}

async function readActor(seq: number, { entity, id }: NonNullable<typeof selected.value>) {
  const exists = entity === 'worker' ? pastFleet.workers.has(id) : pastFleet.tasks.has(id);
  const view = exists ? (await ask<PastActor>(`at/${seq}?${entity}=${id}`)).view : null;
  return { id, seq, view };
}

/** Makes the service start its history process, when the pointer is over the button. */
export const prepareForPast = (): void => void get('range').catch(() => {});

/** Enters time travel at the newest entry, or where the page was paused. */
export async function enterPast(): Promise<void> {
  try {
    const range = await get<LogRange>('range');
    logRange.value = range;
    const left = pause.peek()?.by === 'hand' ? pause.peek()?.seq : undefined;
    navigate({ at: left ?? range.lastSeq, paused: left ?? range.lastSeq });
  } catch (error) {
    pastProblem.value = (error as Error).message;
  }
}

/** Goes to a time or entry, from the live state or the past. */
export async function goTo(place: TravelTarget): Promise<void> {
  try {
    const seq = 'seq' in place ? place.seq : (await get<{ seq: number }>(`moment?ms=${place.ms}`)).seq;
    navigate({
      at: seq,
      time: 'ms' in place ? place.ms : null,
      range: null,
      paused: route.peek().paused ?? head.peek().seq,
    });
  } catch (error) {
    pastProblem.value = (error as Error).message;
  }
}

/** Returns to the live state, even if the page was paused before. */
export function leavePast(): void {
  navigate({ at: null, range: null, paused: null });
  if (pause.peek() !== null) reopen();
}

/**
 * Number of actors in each of `workerStates`, followed for workers by each of `presences`. Joined into one string, so
 * that components re-render only when a count changes.
 */
export const stateCounts = {
  worker: computed(() => {
    void shownFleet.value.version.value;
    return [...shownFleet.value.workerCounts, ...shownFleet.value.presenceCounts].join();
  }),
  task: computed(() => {
    void shownFleet.value.version.value;
    return shownFleet.value.taskCounts.join();
  }),
};

/**
 * Time travel: the fleet at the entry that the route names, folded by the service. One request at a time; of several
 * wanted entries only the newest is loaded.
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
export const shownMs = computed(() => (isPast.value ? (moment.value?.atMs ?? leftMs) : nowMs.value));
/** When the live fleet was left: its rows are shown, dimmed, until those of the past are there. */
let leftMs = 0;
/** The selected actor. Undefined: still loading; null: unknown. */
export const shownView = computed((): WorkerView | TaskView | null | undefined => {
  const id = selected.value?.id;
  if (isPast.value && pastView.value?.id === id) return pastView.value?.view;
  if (isPast.value && moment.value !== null) return undefined;
  return focus.value?.id === id ? focus.value?.view : undefined;
});

/** The progress of the fold that is waited for; null: nothing takes long. */
export const pastProgress = signal<Progress | null>(null);
let loading = new AbortController();

let wanted: { at: number; topic: typeof selected.value } | null = null;
let busy = false;
let loadingAt: number | null = null;
/** The page was in the past before. */
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
    // Of several only the newest is folded: an older one stops at once, and what it folded is a start.
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
        // Both at once, so that the panel is not empty between the two.
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

/** Back to what was shown before, or to the present. */
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

/** The pointer is on the button: meanwhile the service starts what folds the past. */
export const prepareForPast = (): void => void get('range').catch(() => {});

/** Starts where the page stands: at the newest entry, or where it was paused. */
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

/** Goes to a time or an entry, from wherever the page stands. */
export async function goTo(place: TravelTarget): Promise<void> {
  try {
    const seq = 'seq' in place ? place.seq : (await get<{ seq: number }>(`moment?ms=${place.ms}`)).seq;
    navigate({ at: seq, range: null, paused: route.peek().paused ?? head.peek().seq });
  } catch (error) {
    pastProblem.value = (error as Error).message;
  }
}

/** Back to the present, also of a page that was paused before. */
export function leavePast(): void {
  navigate({ at: null, range: null, paused: null });
  if (pause.peek() !== null) reopen();
}

/** Resolves when the entry that the route names is loaded. */
export const settled = async (): Promise<void> => {
  while (busy) await new Promise((done) => setTimeout(done, 30));
};

// How many actors are in each state, as text, so that what shows the counts is rendered only when one has changed.

/** Numbers in the order of `workerStates`, separated by commas; for workers, those of `presences` follow. */
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

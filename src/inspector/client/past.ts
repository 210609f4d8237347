/** The past: what the service folds up to the entry that the address names. One request at a time, the newest wish wins. */
import { computed, effect, signal } from '@preact/signals';
import type { TaskView, WorkerView } from '../../../machines/index.ts';
import type { PastActor, PastFleet } from '../messages.ts';
import type { TimelineEntry } from '../timeline.ts';
import { fleet, get } from './api.ts';
import { focus, live, nowMs } from './connection.ts';
import { createFleetStore } from './fleet-store.ts';
import { go, place, selected } from './place.ts';

export type Range = {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly firstMs: number;
  readonly lastMs: number;
};
type Moment = { readonly seq: number; readonly atMs: number; readonly entry: TimelineEntry | null };

const past = createFleetStore();
export const range = signal<Range | null>(null);
export const moment = signal<Moment | null>(null);
export const pastProblem = signal<string | null>(null);
const pastView = signal<{ id: string; seq: number; view: WorkerView | TaskView | null } | null>(null);

export const isPast = computed(() => place.value.at !== null);
/** What is shown, be it now or then. */
export const shown = computed(() => (isPast.value ? past : live));
/** Then, or now on the log's clock. */
export const shownMs = computed(() => (isPast.value ? (moment.value?.atMs ?? 0) : nowMs.value));
/** Undefined: not told yet; null: unknown. */
export const shownView = computed((): WorkerView | TaskView | null | undefined => {
  const id = selected.value?.id;
  if (isPast.value) return pastView.value?.id === id ? pastView.value?.view : undefined;
  return focus.value?.id === id ? focus.value?.view : undefined;
});

let wanted: { at: number; topic: typeof selected.value } | null = null;
let busy = false;

export function startPast(): void {
  effect(() => {
    const { at } = place.value;
    if (at === null || fleet.value === '') {
      wanted = null;
      pastProblem.value = null;
      return;
    }
    wanted = { at, topic: selected.value };
    if (!busy) void load();
  });
}

async function load(): Promise<void> {
  busy = true;
  while (wanted !== null) {
    const { at, topic } = wanted;
    wanted = null;
    try {
      if (range.peek() === null || at > (range.peek()?.lastSeq ?? 0)) range.value = await get<Range>('range');
      if (moment.peek()?.seq !== at || !past.loaded.peek()) {
        const seen = await get<PastFleet>(`at/${at}`);
        past.apply(seen, true);
        moment.value = seen;
      }
      if (topic !== null) pastView.value = await look(at, topic);
      pastProblem.value = null;
    } catch (error) {
      pastProblem.value = (error as Error).message;
    }
  }
  busy = false;
}

async function look(at: number, { entity, id }: NonNullable<typeof selected.value>) {
  const isThere = entity === 'worker' ? past.workers.has(id) : past.tasks.has(id);
  const view = isThere ? (await get<PastActor>(`at/${at}?${entity}=${id}`)).view : null;
  return { id, seq: at, view };
}

/** Leaves the present at its newest entry. */
export async function enterPast(): Promise<void> {
  try {
    range.value = await get<Range>('range');
    go({ at: range.value.lastSeq });
  } catch (error) {
    pastProblem.value = (error as Error).message;
  }
}

/** Resolves when what the address asks for is shown. */
export const settled = async (): Promise<void> => {
  while (busy) await new Promise((done) => setTimeout(done, 30));
};

/** The outline of the log for the time axis: loaded for the visible part, and updated as the log grows. */
import { computed, effect, signal } from '@preact/signals';
import type { OutlineBucket, OutlineReply, TimelineEntry, TimelinePage } from '../../messages.ts';
import { route, selected } from '../route.ts';
import { askPatiently, fleet, get } from './api.ts';
import { focus, head } from './connection.ts';
import { addPage } from './entry-pages.ts';
import { isPast, logRange } from './past.ts';

/** The visible entries. If `isOpen`, new entries are included as they come. */
export type Shown = { readonly fromSeq: number; readonly toSeq: number; readonly isOpen: boolean };

/** Approximate number of buckets to draw. */
const bucketsWanted = 400;
const refreshMs = 2_000;
const laneMax = 500;

export const outline = signal<OutlineReply | null>(null);
/** The newest known entry; advances with the live fleet. */
export const newestSeq = computed(() => Math.max(logRange.value?.lastSeq ?? 0, head.value.headSeq));
export const shownRange = computed((): Shown => {
  const { range } = route.value;
  const first = Math.max(1, logRange.value?.firstSeq ?? 1);
  const last = Math.max(first, newestSeq.value);
  if (range === null) return { fromSeq: first, toSeq: last, isOpen: true };
  const [from, to] = range;
  return { fromSeq: Math.min(Math.max(from, first), last), toSeq: Math.min(to ?? last, last), isOpen: to === null };
});
/** The entries of the selected actor, oldest first. */
export const lane = signal<readonly TimelineEntry[]>([]);

const widthFor = ({ fromSeq, toSeq }: Shown): number =>
  2 ** Math.max(0, Math.ceil(Math.log2((toSeq - fromSeq + 1) / bucketsWanted)));

/** Wait this long after a change before loading, because a wheel fires many events. */
const settleMs = 120;
let soon: ReturnType<typeof setTimeout> | undefined;
let reading: AbortController | null = null;

export function startOutline(): void {
  effect(() => {
    // The visible part is unknown until the log's range is known.
    if (!isPast.value || fleet.value === '' || logRange.value === null) {
      reading?.abort();
      return;
    }
    // The visible part changed, so cancel the request for the old one.
    void route.value.range;
    reading?.abort();
    clearTimeout(soon);
    soon = setTimeout(() => void read(), settleMs);
  });
  setInterval(() => {
    if (isPast.peek() && logRange.peek() !== null && !document.hidden && reading === null && isStale()) void read();
  }, refreshMs);
  effect(() => void readLane(isPast.value && fleet.value !== '' ? selected.value : null, route.value.range));
  focus.subscribe((update) => {
    if (update === null || update.id !== selected.peek()?.id || !isPast.peek()) return;
    const known = { entries: lane.peek(), before: null };
    lane.value = addPage(known, { entries: update.entries, before: null }, laneMax).entries;
  });
}

/** Whether there are new or unfolded entries. Requests also keep the background fold running. */
function isStale(): boolean {
  const known = outline.peek();
  if (known === null) return true;
  const { toSeq, isOpen } = shownRange.peek();
  if (known.covered < known.lastSeq - known.shownFrom + 1) return true;
  return isOpen && toSeq > (known.buckets.at(-1)?.toSeq ?? 0);
}

/** Loads the missing buckets, and the last known one again because it grows. */
async function read(): Promise<void> {
  const asking = new AbortController();
  reading = asking;
  const shown = shownRange.peek();
  const width = widthFor(shown);
  const fromSeq = Math.floor((shown.fromSeq - 1) / width) * width + 1;
  const old = outline.peek();
  const isMore = old !== null && old.width === width && old.covered >= old.lastSeq - old.shownFrom + 1;
  const kept = isMore ? keptFrom(old.buckets, fromSeq, shown.toSeq) : [];
  const from = kept.length === 0 ? fromSeq : (kept.pop()?.fromSeq ?? fromSeq);
  try {
    const path = `outline?from=${from}&to=${shown.toSeq}&width=${width}`;
    const reply = await askPatiently<OutlineReply>(path, undefined, asking.signal, () => {});
    const buckets = [...kept.filter((bucket) => bucket.toSeq < from), ...reply.buckets];
    if (!asking.signal.aborted) outline.value = { ...reply, buckets };
  } catch {
    // Keep the axis. The jump itself reports the error.
  }
  if (reading === asking) reading = null;
}

/** Returns the known buckets in the visible part, if they cover its beginning. */
function keptFrom(buckets: readonly OutlineBucket[], fromSeq: number, toSeq: number): OutlineBucket[] {
  const kept = buckets.filter((bucket) => bucket.toSeq >= fromSeq && bucket.fromSeq <= toSeq);
  return buckets[0] !== undefined && buckets[0].fromSeq <= fromSeq ? kept : [];
}

async function readLane(topic: typeof selected.value, range: typeof route.value.range): Promise<void> {
  if (topic === null) {
    lane.value = [];
    return;
  }
  const { entity, id } = topic;
  const before = range?.[1] == null ? '' : `&before=${range[1] + 1}`;
  const page = await get<TimelinePage>(`timeline/${entity}/${id}?limit=${laneMax}${before}`).catch(() => null);
  if (selected.peek()?.id === id) lane.value = page?.entries ?? [];
}

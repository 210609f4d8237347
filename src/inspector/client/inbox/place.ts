/** Which item of the inbox is open. When it is done, the one that comes into its place is opened. */
import { useEffect, useRef } from 'preact/hooks';
import { liveFleet } from '../data/connection.ts';
import { w } from '../data/row-fields.ts';
import { navigate, noSelection, selected, selection } from '../route.ts';
import { type Waiting, waitingKey } from './waiting.ts';

type Place = { readonly key: string; readonly at: number; readonly isAcknowledged: boolean };

/** @returns the index of the one that is open; -1: none of them is */
export function placeIn(items: readonly Waiting[]): number {
  const topic = selected.value;
  return topic === null ? -1 : items.findIndex((it) => waitingKey(it) === waitingKey(topic));
}

/** As `placeIn`, and what comes next is opened. */
export function usePlace(items: readonly Waiting[]): number {
  const last = useRef<Place | null>(null);
  const topic = selected.value;
  const key = topic === null ? null : waitingKey(topic);
  const at = placeIn(items);
  useEffect(() => {
    const before = last.current;
    const isAcknowledged = topic?.entity === 'worker' && liveFleet.workers.get(topic.id)?.[w.acknowledged] === 1;
    const isDone = before !== null && before.key === key && (at < 0 || (isAcknowledged && !before.isAcknowledged));
    last.current = key === null || at < 0 ? null : { key, at, isAcknowledged };
    if (isDone) open(items[Math.min(before.at, items.length - 1)]);
  });
  useEffect(() => {
    // On a wide screen the first is open at once; on a phone the list comes first.
    if (selected.peek() === null && innerWidth > 900) open(items[0]);
  }, [items.length === 0]);
  return at;
}

const open = (item: Waiting | undefined): void =>
  navigate(item === undefined ? noSelection : selection(item.entity, item.id), 'replace');

/** Which item of the inbox is open. When it is done, the one that comes into its place is opened. */
import { liveFleet } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { w } from '../data/row-fields.ts';
import { navigate, noSelection, route, selected, selection } from '../route.ts';
import { type Waiting, waiting, waitingKey } from './waiting.ts';

type Place = { readonly key: string; readonly at: number; readonly isAcknowledged: boolean };

/** The one that was open. */
let last: Place | null = null;
/** Nobody has waited since the inbox was opened. */
let isFresh = true;

/** @returns the index of the one that is open; -1: none of them is */
export function placeIn(items: readonly Waiting[]): number {
  const topic = selected.value;
  return topic === null ? -1 : items.findIndex((it) => waitingKey(it) === waitingKey(topic));
}

/** To be called when anything has changed: opens the first, and what comes next. */
export function keepPlace(): void {
  if (route.value.view !== 'inbox' || isPast.value) {
    last = null;
    isFresh = true;
    return;
  }
  void liveFleet.version.value;
  const items = waiting.value;
  const topic = selected.value;
  const key = topic === null ? null : waitingKey(topic);
  const at = placeIn(items);
  const isAcknowledged = topic?.entity === 'worker' && liveFleet.workers.get(topic.id)?.[w.acknowledged] === 1;
  const before = last;
  const isDone = before !== null && before.key === key && (at < 0 || (isAcknowledged && !before.isAcknowledged));
  last = key === null || at < 0 ? null : { key, at, isAcknowledged };
  // On a wide screen the first is open at once; on a phone the list comes first.
  const opensFirst = isFresh && items.length > 0 && topic === null && innerWidth > 900;
  isFresh = items.length === 0;
  if (isDone) open(items[Math.min(before.at, items.length - 1)]);
  else if (opensFirst) open(items[0]);
}

const open = (item: Waiting | undefined): void =>
  navigate(item === undefined ? noSelection : selection(item.entity, item.id), 'replace');

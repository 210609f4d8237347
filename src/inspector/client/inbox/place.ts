/**
 * Which item of the inbox is open. When this operator has settled it, the next one is opened. When somebody else has,
 * it stays: what is about to be pressed must not be for another one.
 */
import { computed, effect, signal } from '@preact/signals';
import { head, liveFleet } from '../data/connection.ts';
import { isPast } from '../data/past.ts';

import { forgetOurs, forgetShown, isOurs } from '../operator/settle.ts';
import { navigate, noSelection, route, selected, selection } from '../route.ts';
import { isMovedByKeepOne, keepOne, keepOrder, type Placed } from '../ui/keep-order.ts';
import { hasMouse } from '../ui/use-held.ts';
import { itemOf, type Waiting, waiting, waitingKey } from './waiting.ts';

// The list of the inbox as it stands on screen: nothing moves under a pointer, and the item that is open stays when
// somebody else has settled it.

/** An item of the list. `isGone`: it does not wait any more. */
export type Listed = Waiting & Placed;

export const listed = signal<readonly Listed[]>([]);
/** A mouse points at the list, or it is on a screen without one. */
const isHeld = signal(false);
const isListOnScreen = () => selected.value === null || innerWidth > 900;

/** Returns the key of the open item. Null: none is open. */
const openKey = (): string | null => (selected.value === null ? null : waitingKey(selected.value));
/** True if sorting again would move something. */
export const isOutdated = computed(() => isMovedByKeepOne(listed.value, waiting.value.map(waitingKey), openKey()));

export function startList(): void {
  effect(() => {
    const isShown = route.value.view === 'inbox' && !isPast.value;
    if (!isShown) isHeld.value = false;
    else if (!hasMouse.matches) isHeld.value = isListOnScreen();
  });
  effect(() => {
    const now = waiting.value.map(waitingKey);
    const isShown = route.value.view === 'inbox' && !isPast.value;
    const open = openKey();
    const shown = isShown ? listed.peek() : [];
    show(isHeld.value ? keepOrder(shown, now) : keepOne(shown, now, open));
  });
}

function show(order: readonly Placed[]): void {
  const old = listed.peek();
  const isSame = order.length === old.length && order.every((item, index) => isEqual(item, old[index]));
  if (!isSame) listed.value = order.map((item) => ({ ...item, ...itemOf(item.key) }));
}

const isEqual = (item: Placed, other: Placed | undefined): boolean =>
  item.key === other?.key && item.isGone === other.isGone;

export const holdList = (isPointed: boolean): void => {
  if (hasMouse.matches) isHeld.value = isPointed;
};

/** Sorts the list as it is now. */
export function sortList(): void {
  isHeld.value = false;
  if (!hasMouse.matches) isHeld.value = isListOnScreen();
}

/** `next`: what to open after it, the first that still waits. */
type Place = { readonly key: string; readonly isAcknowledged: boolean; readonly next: readonly string[] };

/** The one that is open. */
let last: Place | null = null;
/** Nobody has waited since the inbox was opened. */
let isFresh = true;
/** Opened by the page itself, and not on screen yet: until then a key is meant for the one `before`. */
let unseen: { readonly key: string; readonly before: string | null } | null = null;
/** The list that is on screen; empty: none. */
let seen: readonly Listed[] = [];

/** To be called when anything has changed: opens the first, and what comes next. */
export function keepPlace(): void {
  // The head follows the rows: up to it, everything was shown before this change.
  forgetShown(head.peek().seq);
  if (route.value.view !== 'inbox' || isPast.value) {
    last = unseen = null;
    isFresh = true;
    return;
  }
  void liveFleet.version.value;
  const items = listed.value;
  const key = openKey();
  const item = items.find((item) => item.key === key);
  const before = last;
  last = key === null || item === undefined ? null : { key, isAcknowledged: isAcknowledged(item), next: after(key) };
  const isSettled = item === undefined || item.isGone || (last?.isAcknowledged === true && !before?.isAcknowledged);
  const isDone = before !== null && before.key === key && isSettled && isOurs(key);
  // On a wide screen the first is open at once; on a phone the list comes first.
  const opensFirst = isFresh && items.length > 0 && key === null && innerWidth > 900;
  isFresh = items.length === 0;
  if (isDone) openNext(before);
  else if (opensFirst) open(items[0]?.key);
}

const isAcknowledged = ({ entity, id }: Listed): boolean =>
  entity === 'worker' && liveFleet.workers.get(id)?.isAcknowledged === true;

/** Returns the keys below `key`, then those above it, the nearest first. */
function after(key: string): string[] {
  const keys = listed.peek().map((item) => item.key);
  const index = keys.indexOf(key);
  return [...keys.slice(index + 1), ...keys.slice(0, index).reverse()];
}

function openNext({ key, next }: Place): void {
  forgetOurs(key);
  sortList();
  const waits = (itemKey: string) => listed.peek().some((item) => item.key === itemKey && !item.isGone);
  const found = next.find(waits);
  if (found !== undefined) open(found);
  else if (!waits(key)) open(undefined);
}

function open(key: string | undefined): void {
  unseen = key === undefined ? null : { key, before: openKey() };
  const item = key === undefined ? null : itemOf(key);
  navigate(item === null ? noSelection : selection(item.entity, item.id), 'replace');
}

/** To be called when what is on screen has been drawn. */
export function noteSeen(items: readonly Listed[], key: string | null): void {
  seen = items;
  if (unseen?.key === key) unseen = null;
}

/** Returns what a key acts on: the item that was open on screen when it was pressed, or was chosen by a key since. */
export function placeOfKeys(): Listed | undefined {
  const key = openKey();
  const meant = unseen !== null && unseen.key === key ? unseen.before : key;
  return listed.peek().find((item) => item.key === meant) ?? seen.find((item) => item.key === meant);
}

/** Moves in the list that is on screen. */
export function step(by: 1 | -1): void {
  const items = seen.length > 0 ? seen : listed.peek();
  const from = items.findIndex((item) => item.key === placeOfKeys()?.key);
  const ahead = by > 0 ? items.slice(from + 1) : items.slice(0, Math.max(0, from)).reverse();
  const next = ahead.find((item) => !item.isGone) ?? (from < 0 ? items[0] : undefined);
  if (next === undefined) return;
  unseen = null;
  navigate(selection(next.entity, next.id), 'replace');
}

// The answer of the open item, which keys lead to.

/** The field that is taken as soon as the answer to this item is on screen, as a selector; null: none. */
export const wantedField = signal<{ readonly key: string; readonly field: string } | null>(null);

/** Focuses the field, or takes it if it is a choice; without such a choice, focuses the field for one's own words. */
export function takeField(form: HTMLElement, field: string): void {
  const found = form.querySelector<HTMLElement>(field) ?? form.querySelector('textarea');
  if (found instanceof HTMLInputElement) found.click();
  else found?.focus();
}

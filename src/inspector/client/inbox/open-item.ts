/**
 * Tracks the order of the inbox and its open item. When this operator has handled the item, the next one is opened.
 * When someone else has, it stays open, so that a key about to be pressed cannot hit another item.
 */
import { computed, effect, signal } from '@preact/signals';
import { head, liveFleet } from '../data/connection.ts';
import { isPast } from '../data/past.ts';

import { isTracked, untrackAction, untrackShown } from '../operator/settle.ts';
import { navigate, noSelection, route, selected, selection } from '../route.ts';
import { isMovedByKeepOne, keepOne, keepOrder, type Placed } from '../ui/keep-order.ts';
import { hasMouse } from '../ui/use-held.ts';
import { found, itemOf, type Waiting, waitingKey } from './waiting.ts';

/** An item of the list. If `isGone`, it no longer waits. */
export type Listed = Waiting & Placed;

export const listed = signal<readonly Listed[]>([]);
/** Whether the order is fixed: the mouse is over the list, or the list is visible on a device without a mouse. */
const isHeld = signal(false);
const isListOnScreen = () => selected.value === null || innerWidth > 900;

/** The key of the open item, or null. */
const openKey = (): string | null => (selected.value === null ? null : waitingKey(selected.value));
/** Whether sorting would move something. */
export const isOutdated = computed(() => isMovedByKeepOne(listed.value, found.value.map(waitingKey), openKey()));

export function startList(): void {
  let searched = route.peek().q;
  effect(() => {
    const isShown = route.value.view === 'inbox' && !isPast.value;
    if (!isShown) isHeld.value = false;
    else if (!hasMouse.matches) isHeld.value = isListOnScreen();
  });
  effect(() => {
    const now = found.value.map(waitingKey);
    const isShown = route.value.view === 'inbox' && !isPast.value;
    const open = openKey();
    // A new search shows its own list: what it does not find still waits.
    const shown = isShown && searched === route.value.q ? listed.peek() : [];
    searched = route.value.q;
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

/** Sorts the list by its current order, even if it was held. */
export function sortList(): void {
  isHeld.value = false;
  if (!hasMouse.matches) isHeld.value = isListOnScreen();
}

/** `next` are the keys to open afterwards; the first that still waits is used. */
type OpenItem = { readonly key: string; readonly isAcknowledged: boolean; readonly next: readonly string[] };

/** The item that was open at the last change. */
let last: OpenItem | null = null;
/** Whether the list has been empty since the inbox was opened. */
let isFresh = true;
/** An item opened by the page but not drawn yet. Until then, keys are meant for the item `before`. */
let unseen: { readonly key: string; readonly before: string | null } | null = null;
/** The list as last drawn. */
let seen: readonly Listed[] = [];

/** Call this after every change. Opens the first item, or the next one when the open one was handled. */
export function updateOpenItem(): void {
  // The head is updated after the rows, so everything up to it was shown before this change.
  untrackShown(head.peek().seq);
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
  const isDone = before !== null && before.key === key && isSettled && isTracked(key);
  // Open the first item at once, except on a phone, which shows the list first.
  const opensFirst = isFresh && items.length > 0 && key === null && innerWidth > 900;
  isFresh = items.length === 0;
  if (isDone) openNext(before);
  else if (opensFirst) open(items[0]?.key);
}

const isAcknowledged = ({ entity, id }: Listed): boolean =>
  (entity === 'worker' ? liveFleet.workers : liveFleet.tasks).get(id)?.isAcknowledged === true;

/** Returns the keys below `key`, then those above it, nearest first. */
function after(key: string): string[] {
  const keys = listed.peek().map((item) => item.key);
  const index = keys.indexOf(key);
  return [...keys.slice(index + 1), ...keys.slice(0, index).reverse()];
}

function openNext({ key, next }: OpenItem): void {
  untrackAction(key);
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

/** Call this after the list was drawn. */
export function noteSeen(items: readonly Listed[], key: string | null): void {
  seen = items;
  if (unseen?.key === key) unseen = null;
}

/** Returns the item that a key acts on: the one visibly open, or chosen by a key since. */
export function keyTarget(): Listed | undefined {
  const key = openKey();
  const meant = unseen !== null && unseen.key === key ? unseen.before : key;
  return listed.peek().find((item) => item.key === meant) ?? seen.find((item) => item.key === meant);
}

/** Moves to the next or previous item of the list on screen. */
export function step(by: 1 | -1): void {
  const items = seen.length > 0 ? seen : listed.peek();
  const from = items.findIndex((item) => item.key === keyTarget()?.key);
  const ahead = by > 0 ? items.slice(from + 1) : items.slice(0, Math.max(0, from)).reverse();
  const next = ahead.find((item) => !item.isGone) ?? (from < 0 ? items[0] : undefined);
  if (next === undefined) return;
  unseen = null;
  navigate(selection(next.entity, next.id), 'replace');
}

/** A field (as selector) of this item's answer form to focus as soon as the form is on screen, or null. */
export const wantedField = signal<{ readonly key: string; readonly field: string } | null>(null);

/** Focuses the field, or chooses it if it is a choice. If it does not exist, focuses the text field. */
export function focusField(form: HTMLElement, field: string): void {
  const found = form.querySelector<HTMLElement>(field) ?? form.querySelector('textarea');
  if (found instanceof HTMLInputElement && found.type === 'radio') found.click();
  else found?.focus();
}

/**
 * The list of the inbox as it stands on screen: nothing moves under a pointer, and the item that is open stays when
 * somebody else has settled it.
 */
import { computed, effect, signal } from '@preact/signals';
import { isPast } from '../data/past.ts';
import { route, selected } from '../route.ts';
import { isMovedByKeepOne, keepOne, keepOrder, type Placed } from '../ui/keep-order.ts';
import { hasMouse } from '../ui/use-held.ts';
import { itemOf, type Waiting, waiting, waitingKey } from './waiting.ts';

/** `isGone`: it does not wait any more. */
export type Listed = Waiting & Placed;

export const listed = signal<readonly Listed[]>([]);
/** A mouse points at the list, or it is on a screen without one. */
const isHeld = signal(false);
const isListOnScreen = () => selected.value === null || innerWidth > 900;

/** Of the item that is open. Null: none is. */
export const openKey = (): string | null => (selected.value === null ? null : waitingKey(selected.value));
/** To sort again would move something. */
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
  const isSame = order.length === old.length && order.every((it, at) => isEqual(it, old[at]));
  if (!isSame) listed.value = order.map((it) => ({ ...it, ...itemOf(it.key) }));
}

const isEqual = (it: Placed, other: Placed | undefined): boolean => it.key === other?.key && it.isGone === other.isGone;

export const holdList = (isPointed: boolean): void => {
  if (hasMouse.matches) isHeld.value = isPointed;
};

/** As it is now, from the top. */
export function sortList(): void {
  isHeld.value = false;
  if (!hasMouse.matches) isHeld.value = isListOnScreen();
}

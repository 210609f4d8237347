/**
 * Freezes content while someone points at it or focuses it, so that nothing moves under the pointer. Sections,
 * timelines and the entry list use `useHeld`; lists that are ordered elsewhere use `heldByMouse`.
 */
import type { RefObject } from 'preact';
import { useReducer, useRef } from 'preact/hooks';

export type Held<Value, Area extends HTMLElement = HTMLDivElement> = {
  readonly shown: Value;
  /** Number of newer contents that wait to be shown. */
  readonly withheld: number;
  /** Whether the mouse or the keyboard focus is in the area. */
  readonly isUsed: boolean;
  /** Properties for the surrounding element. */
  readonly area: {
    readonly ref: RefObject<Area | null>;
    readonly onPointerLeave: () => void;
    readonly onFocusOut: (event: FocusEvent) => void;
  };
};

type Content<Value> = { readonly value: Value; readonly content: string };
type Contents<Value> = { shown: Content<Value> | null; newest: Content<Value> | null; withheld: number };

/** Touch screens do not announce a touch, and keep `:hover` on the element touched last. */
export const hasMouse = matchMedia('(hover: hover)');

/**
 * Returns the newest value that may be shown, and properties for the area that holds it.
 * @param contentOf the visible part of a value; equal contents are replaced at once, and empty ones are not held
 * @param isWanted true if the operator asked for the new content by an action or a jump
 */
export function useHeld<Value, Area extends HTMLElement = HTMLDivElement>(
  live: Value,
  contentOf: (value: Value) => string,
  isWanted: boolean,
): Held<Value, Area> {
  const ref = useRef<Area | null>(null);
  const [, renderAgain] = useReducer((times: number) => times + 1, 0);
  const { current: held } = useRef<Contents<Value>>({ shown: null, newest: null, withheld: 0 });
  const newest: Content<Value> =
    held.newest !== null && held.newest.value === live ? held.newest : { value: live, content: contentOf(live) };
  const shown = held.shown ?? newest;
  const isUsed = isUsedNow(ref.current);
  const isFree = !isUsed || isWanted || shown.content === '' || newest.content === shown.content;
  const isNew = held.newest !== null && newest.content !== held.newest.content;
  held.newest = newest;
  held.shown = isFree ? newest : shown;
  held.withheld = isFree ? 0 : held.withheld + Number(isNew);
  const release = () => renderAgain(0);
  return {
    shown: held.shown.value,
    withheld: held.withheld,
    isUsed,
    area: {
      ref,
      onPointerLeave: release,
      onFocusOut: ({ relatedTarget }) => {
        if (!(relatedTarget instanceof Node && ref.current?.contains(relatedTarget))) release();
      },
    },
  };
}

const isUsedNow = (area: HTMLElement | null): boolean =>
  area !== null && ((hasMouse.matches && area.matches(':hover')) || area.querySelector(':focus-visible') !== null);

/**
 * Event handlers for a list that holds while the mouse is over it. A mouse that does not move does not hold it, for
 * example after a click on a notice above the list.
 * @param hold may be called repeatedly with the same value
 */
export const heldByMouse = (hold: (isHeld: boolean) => void) => ({
  onPointerMove: ({ pointerType }: PointerEvent) => hold(pointerType === 'mouse'),
  onPointerLeave: () => hold(false),
});

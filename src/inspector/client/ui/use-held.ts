/**
 * What holds still while somebody is in it: nothing moves under a pointer or a focus, so what was going to be clicked or read
 * stays where it is. Sections, timelines and the list of entries are held by `useHeld`; the lists, whose order is made
 * outside of them, by `heldByMouse`.
 */
import type { RefObject } from 'preact';
import { useReducer, useRef } from 'preact/hooks';

export type Held<Value, Area extends HTMLElement = HTMLDivElement> = {
  readonly shown: Value;
  /** How many newer contents wait. */
  readonly withheld: number;
  /** Somebody is in it: with a mouse, or by keyboard. */
  readonly isUsed: boolean;
  /** For the element around it. */
  readonly area: {
    readonly ref: RefObject<Area | null>;
    readonly onPointerLeave: () => void;
    readonly onFocusOut: (event: FocusEvent) => void;
  };
};

type Content<Value> = { readonly value: Value; readonly content: string };
type Contents<Value> = { shown: Content<Value> | null; newest: Content<Value> | null; withheld: number };

/** A finger gives no sign before it touches, and what it touched last stays `:hover`. */
export const hasMouse = matchMedia('(hover: hover)');

/**
 * Shows the newest value that may be shown, and the area in which it holds still.
 * @param contentOf what of a value is seen; equal contents move nothing, and an empty one is not held
 * @param isWanted the operator has asked for what is new, by an action or a jump
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
 * Handlers for a list that a mouse holds. One that rests on it after a click on a notice above points at nothing until it
 * moves. @param hold may be called again and again with the same
 */
export const heldByMouse = (hold: (isHeld: boolean) => void) => ({
  onPointerMove: ({ pointerType }: PointerEvent) => hold(pointerType === 'mouse'),
  onPointerLeave: () => hold(false),
});

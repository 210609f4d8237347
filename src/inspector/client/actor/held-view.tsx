/**
 * A panel that holds still while somebody points at its section or is in it by keyboard: what comes meanwhile waits. What
 * this page's operator has done to the actor is shown at once.
 */
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { Topic } from '../../messages.ts';
import { focus, head } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { storedSeq, targetKey } from '../operator/ours.ts';
import { type Held, useHeld } from '../ui/use-held.ts';

/** @param contentOf what of the view is seen; what is equal moves nothing */
export function useHeldView<View>(topic: Topic, view: View, contentOf: (view: View) => unknown): Held<View> {
  const newestSeq = useNewestSeq(topic);
  const ownSeq = storedSeq(targetKey(topic));
  // What was done before the panel was opened has been seen.
  const { current: seen } = useRef({ ownSeq, seq: newestSeq });
  const isOwnUnseen = ownSeq !== seen.ownSeq && seen.seq < ownSeq;
  const text = (it: View) => JSON.stringify(contentOf(it));
  const held = useHeld(view, text, isPast.value || isOwnUnseen);
  if (held.shown === view) seen.seq = newestSeq;
  return held;
}

/** The newest entry about the actor that the page has received; where some were left out, the newest of the fleet. */
function useNewestSeq({ id }: Topic): number {
  const newest = useRef(0);
  const news = focus.value;
  if (news?.id === id)
    newest.current = Math.max(newest.current, news.entries.at(-1)?.seq ?? 0, news.omitted > 0 ? head.peek().seq : 0);
  return newest.current;
}

type AreaProps = {
  readonly held: Pick<Held<unknown>, 'withheld' | 'area'>;
  /** What is in it says by itself that something waits. */
  readonly isQuiet?: boolean;
  readonly children: ComponentChildren;
};

/** The section that is pointed at. */
export const HeldArea = ({ held: { withheld, area }, isQuiet = false, children }: AreaProps) => (
  <div class="section" {...area}>
    <p class="withheld" role="status" hidden={withheld === 0 || isQuiet}>
      <span>{withheld} new, shown when you leave</span>
    </p>
    {children}
  </div>
);

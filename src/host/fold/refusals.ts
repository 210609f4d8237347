/**
 * Remembers the newest refused entries, so that their publishers get the reason. A view shows only the last 20 of its
 * actor, and unknown actors, or new ones in a full fleet, have no view.
 */
import { setNewest } from '../../set-newest.ts';

/** `actor` is `<entity>.<id>`, as in the entry's subject. */
type Refused = { readonly actor: string; readonly reason: string };

export type Refusals = {
  note(seq: number, actor: string, reason: string): void;
  /** Returns why entry `seq` about this actor was refused. Null if it was not, or if the reason is evicted by now. */
  of(seq: number, actor: string): string | null;
};

/** Publishers ask within seconds. A replica refuses fewer entries than this in that time. */
const refusalsMax = 10_000;

export function createRefusals(): Refusals {
  const refusals = new Map<number, Refused>();
  return {
    note: (seq, actor, reason) => setNewest(refusals, seq, { actor, reason }, refusalsMax),
    of(seq, actor) {
      const refused = refusals.get(seq);
      return refused?.actor === actor ? refused.reason : null;
    },
  };
}

/**
 * The newest entries that the fold refused, so that whoever published one can be told. A view lists the last 20 of an
 * actor, and none of an unknown actor or in a full fleet.
 */
import { setNewest } from '../../newest.ts';

/** `actor`: `<entity>.<id>`, as in the entry's subject. */
type Refused = { readonly actor: string; readonly reason: string };

export type Refusals = {
  note(seq: number, actor: string, reason: string): void;
  /** Says why the entry `seq` about this actor was refused; null: it was not, or long ago. */
  of(seq: number, actor: string): string | null;
};

/** Publishers ask at once. As many as a replica takes in some seconds. */
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

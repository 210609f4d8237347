/**
 * The pauses between an agent's turns that end at once, in `stopgate loop` and `stopgate acp`: often its command or its
 * model is broken, and each turn may cost money.
 */

/** Before the second of such turns. */
export const firstPauseMs = 500;
/** A turn that ends sooner has hardly done anything. */
const shortTurnMs = 1_000;
/** Nobody waits longer for something that works again. */
const pauseMsMax = 30_000;

export type TurnPauses = {
  /** Returns how long to wait after a turn of this length, in milliseconds. */
  after(turnMs: number): number;
};

/** Doubled after each further short turn, up to 30 s; a first pause that is longer stays as it is. @param firstMs 0: none */
export function createTurnPauses(firstMs: number = firstPauseMs): TurnPauses {
  let shortTurns = 0;
  return {
    after(turnMs) {
      shortTurns = turnMs < Math.max(shortTurnMs, firstMs) ? shortTurns + 1 : 0;
      return shortTurns === 0 ? 0 : Math.max(firstMs, Math.min(firstMs * 2 ** (shortTurns - 1), pauseMsMax));
    },
  };
}

/**
 * Backs off when an agent's turns end immediately, in `stopgate loop` and `stopgate acp`. Often its command or its
 * model is broken, and every turn may cost money.
 */

/** The default pause after the first short turn. */
export const firstPauseMs = 500;
/** A shorter turn has hardly done any work. */
const shortTurnMs = 1_000;
/** The pause never grows beyond this, so that work resumes soon after a fix. */
const pauseMsMax = 30_000;

export type TurnPauses = {
  /** Returns the pause after a turn of this length, in milliseconds. */
  after(turnMs: number): number;
};

/**
 * The pause doubles with each consecutive short turn, up to 30 s or `firstMs`, whichever is longer. 0 disables pauses.
 */
export function createTurnPauses(firstMs: number = firstPauseMs): TurnPauses {
  let shortTurns = 0;
  return {
    after(turnMs) {
      shortTurns = turnMs < Math.max(shortTurnMs, firstMs) ? shortTurns + 1 : 0;
      return shortTurns === 0 ? 0 : Math.max(firstMs, Math.min(firstMs * 2 ** (shortTurns - 1), pauseMsMax));
    },
  };
}

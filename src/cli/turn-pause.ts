/** The pauses of `stopgate loop` after turns that end at once: often the command is broken, and each turn may cost money. */
import { startTimer } from '../timer.ts';

/** A turn that ends sooner has hardly done anything. */
const shortTurnMs = 1_000;
/** Nobody waits longer for a command that works again. */
const pauseMsMax = 30_000;

export type TurnPauses = {
  /** Returns how long to wait after a turn of this length, in milliseconds. */
  after(turnMs: number): number;
};

/** Doubled after each further short turn, up to 30 s; a first pause that is longer stays as it is. @param firstMs 0: none */
export function createTurnPauses(firstMs: number): TurnPauses {
  let shortTurns = 0;
  return {
    after(turnMs) {
      shortTurns = turnMs < Math.max(shortTurnMs, firstMs) ? shortTurns + 1 : 0;
      return shortTurns === 0 ? 0 : Math.max(firstMs, Math.min(firstMs * 2 ** (shortTurns - 1), pauseMsMax));
    },
  };
}

/** Ends at once when `signal` fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = startTimer(signal.aborted ? 0 : ms, resolve);
    const end = () => {
      timer.clear();
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
  });
}

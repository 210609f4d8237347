/** Barriers: who has to see an entry waits here until the fold has come so far. */
import { AppError } from '../errors.ts';

export type Barriers = {
  /** Passes when everything up to `seq` is folded. */
  until(seq: number): Promise<void>;
  /** The fold has moved. */
  moved(): void;
  /** Nothing more will be folded: whoever waits finds that out by himself. */
  passAll(): void;
};

export function createBarriers(foldedSeq: () => number): Barriers {
  const waiting: { readonly seq: number; readonly pass: () => void }[] = [];
  return {
    async until(seq) {
      if (seq <= foldedSeq()) return;
      await new Promise<void>((pass) => {
        waiting.push({ seq, pass });
        waiting.sort((a, b) => a.seq - b.seq);
      });
    },
    moved() {
      while (waiting.length > 0 && (waiting[0]?.seq ?? 0) <= foldedSeq()) waiting.shift()?.pass();
    },
    passAll() {
      for (const { pass } of waiting.splice(0)) pass();
    },
  };
}

/** @throws AppError log.unavailable: it took longer */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = new AppError('log.unavailable', `the log did not answer within ${timeoutMs} ms`);
    const timer = setTimeout(() => reject(late), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** The timeout for an entry that was sent to the log and must come back from it. */
import type { Bus } from '../../nats/bus.ts';
import type { Timer, TimerQueue } from '../../timer.ts';
import type { FoldProgress } from '../fold/fold-progress.ts';

export type EntryWaitOptions = {
  readonly bus: Pick<Bus, 'flushLog'>;
  readonly progress: Pick<FoldProgress, 'seq'>;
  /** Its timers fire after half of `entryTimeoutMs`. */
  readonly entryWaits: TimerQueue;
};

/** The limit even while the log delivers other entries. */
const slowestMs = 10_000;

/**
 * Calls `onLate` if the log delivers nothing for `entryTimeoutMs`. While other entries arrive, ours is just queued, so
 * a burst of thousands is served to its end instead of being refused after it was stored.
 */
export const expectEntry = (options: EntryWaitOptions, onLate: () => void): Timer => new EntryWait(options, onLate);

class EntryWait implements Timer {
  readonly #options: EntryWaitOptions;
  readonly #onLate: () => void;
  readonly #startedMs = performance.now();
  #seq: number;
  #timer: Timer;
  #ended = false;

  constructor(options: EntryWaitOptions, onLate: () => void) {
    this.#options = options;
    this.#onLate = onLate;
    this.#seq = options.progress.seq;
    this.#timer = this.#wait();
  }

  clear(): void {
    this.#ended = true;
    this.#timer.clear();
  }

  #wait(): Timer {
    return this.#options.entryWaits.start(() => this.#listen());
  }

  /** Pings the server at half time, because a missing answer takes a second to detect. */
  #listen(): void {
    const answered = this.#options.bus.flushLog();
    this.#timer = this.#options.entryWaits.start(() => void this.#check(answered));
  }

  async #check(answered: Promise<boolean>): Promise<void> {
    const { bus, progress } = this.#options;
    // Messages that the server sent before its answer may still be queued in this process, behind requests.
    const isHeard = ((await answered) || progress.seq > this.#seq) && (await bus.flushLog());
    if (this.#ended) return;
    const isProgressing = isHeard && progress.seq > this.#seq && performance.now() - this.#startedMs < slowestMs;
    this.#seq = progress.seq;
    if (isProgressing) this.#timer = this.#wait();
    else this.#onLate();
  }
}

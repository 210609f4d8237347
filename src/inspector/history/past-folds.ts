/**
 * The fleet at any entry of the log, by the same fold. It starts from whatever is nearest, or is one that is under way
 * and will pass. On its way it leaves checkpoints.
 */
import { AppError } from '../../errors.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import type { Checkpoints } from './checkpoints.ts';
import { createSharedFold, type Moment, type SharedFold, type Step, type Waiter } from './shared-fold.ts';
import { createStarts, type Known, notCovered, type StoredSnapshots } from './starts.ts';
import { createLane } from './turns.ts';
import { GapError } from './unbroken.ts';
import type { HistoryProgress } from './work.ts';

export type Asker = {
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: HistoryProgress) => void;
};
export type PastFolds = {
  /** Calls `read` with the moment at `seq`, which it must not keep. @throws AppError input.bad: it cannot be shown */
  at<Result>(seq: number, asker: Asker, read: (moment: Moment) => Result): Promise<Result>;
  /**
   * Folds entries `fromSeq` to `toSeq`, with `onStep` for each. `isBackground`: everything else goes first.
   * @throws AppError log.unavailable: the log was cut meanwhile
   */
  over(fromSeq: number, toSeq: number, asker: Asker, options: OverOptions): Promise<void>;
  /** Returns the first entry that can be shown. */
  earliest(): Promise<number>;
};
export type OverOptions = { readonly onStep?: (step: Step) => void; readonly isBackground?: boolean };

export type PastFoldsOptions = {
  readonly fleet: string;
  readonly log: Pick<StoredLog, 'range' | 'history' | 'accepted'>;
  readonly checkpoints: Checkpoints;
  readonly snapshots: StoredSnapshots;
  /** Called for each entry that any fold passes. */
  readonly onStep?: (step: Step) => void;
};
type Read<Result> = (moment: Moment) => Result;
type Wanted = Pick<Waiter, 'toSeq' | 'isBackground' | 'onStep'>;

/** Folds that run at once; each holds a fleet. */
const foldsMax = 3;
/**
 * For each actor, before a fold that somebody waits for leaves a checkpoint. To pack an actor takes about as long as to
 * fold an entry, so the first checkpoint makes that jump an eighth longer at most.
 */
const entriesFoldedMin = 8;
/** The log may be cut again while what is left of it is read. */
const triesMax = 3;

export function createPastFolds({ onStep, ...options }: PastFoldsOptions): PastFolds {
  const { log, checkpoints } = options;
  const starts = createStarts(options);
  const folds = new Set<SharedFold>();
  const lane = createLane(foldsMax);
  const create = (fromSeq: number, known: Known): SharedFold => {
    const fold = createSharedFold({
      // Until it begins others may join who need that place.
      ...{ log, fromSeq, open: () => starts.open(fromSeq, known) },
      onStep(step) {
        const { message, fleet } = step;
        const hasFolded = message.seq - fromSeq >= entriesFoldedMin * (fleet.workers.size + fleet.tasks.size);
        if (hasFolded || fold.isBackground) checkpoints.offer(message.seq, known.lastSeq, fleet);
        onStep?.(step);
      },
      onEnded(moment) {
        folds.delete(fold);
        if (moment !== null) starts.keep(moment);
      },
      isOutranked: () => [...folds].some((it) => it !== fold && !it.isBackground),
    });
    return fold;
  };
  /** Joins a running fold that is nearer to `seq` than any other start, or begins one. */
  const pass = async <Result>(seq: number, wanted: Wanted, asker: Asker, read: Read<Result>): Promise<Result> => {
    const known = await starts.known();
    const nearest = starts.nearest(seq, known);
    const running = [...folds].filter((it) => it.seq <= seq).sort((a, b) => b.seq - a.seq)[0];
    if (running !== undefined && running.seq >= (nearest ?? 0)) return untilPassed(running, wanted, asker, read);
    if (nearest === null) throw notCovered(seq, known);
    const fold = create(nearest, known);
    folds.add(fold);
    const passed = untilPassed(fold, wanted, asker, read);
    void lane.run(() => fold.run());
    return passed;
  };
  return {
    async at(seq, asker, read) {
      const isNew = seq > (await starts.known()).lastSeq;
      const { lastSeq } = await starts.known(isNew);
      if (seq > lastSeq) throw new AppError('input.bad', `there is no entry ${seq} yet: the log ends at ${lastSeq}`);
      for (let tries = 1; ; tries += 1) {
        try {
          return await pass(seq, { toSeq: seq, isBackground: false }, asker, read);
        } catch (error) {
          if (!(error instanceof GapError)) throw error;
          const { firstSeq } = await starts.known(true);
          if (firstSeq <= error.fromSeq)
            throw new AppError('input.bad', `entry ${seq} cannot be shown: ${error.what} missing in the log`);
          if (tries === triesMax) throw error;
        }
      }
    },
    async over(fromSeq, toSeq, asker, { onStep: each, isBackground = false }) {
      const onEach = each === undefined ? {} : { onStep: (step: Step) => step.message.seq >= fromSeq && each(step) };
      // A cut log may begin with the entry of a snapshot, whose state is then the first there is.
      const hasBefore = starts.nearest(fromSeq - 1, await starts.known()) !== null;
      const startSeq = hasBefore ? fromSeq - 1 : fromSeq;
      await pass(startSeq, { toSeq, isBackground, ...onEach }, asker, () => {});
    },
    earliest: async () => starts.earliest(await starts.known()),
  };
}

/** Resolves when `fold` has passed the place and `read` was called. */
function untilPassed<Result>(
  fold: SharedFold,
  wanted: Wanted,
  { signal, onProgress }: Asker,
  read: Read<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      leave();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const leave = fold.join({
      ...{ ...wanted, onProgress },
      onReached(moment) {
        signal.removeEventListener('abort', onAbort);
        try {
          resolve(read(moment));
        } catch (error) {
          reject(error);
        }
      },
      onFailed(error) {
        signal.removeEventListener('abort', onAbort);
        reject(error);
      },
    });
  });
}

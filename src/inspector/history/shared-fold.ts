/**
 * One fold through the log, for all who want something ahead of it: each is served as the fold passes, and it ends when
 * nobody waits any more.
 */
import type { Fleet, Outcome } from '../../../machines/index.ts';
import { foldMessage } from '../../host/fold/fold-message.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import { createPace, type Pace } from './turns.ts';
import { GapError, readUnbroken } from './unbroken.ts';
import type { HistoryProgress } from './work.ts';

/** The fleet after entry `seq`; `last`: that entry, null where the fold has only begun there. */
export type Moment = { readonly fleet: Fleet; readonly seq: number; readonly last: LogMessage | null };
/** One entry, folded. `silentFromMs`: when the one before was stored; 0: there is none. */
export type Step = {
  readonly message: LogMessage;
  readonly outcomes: readonly Outcome[];
  readonly fleet: Fleet;
  readonly silentFromMs: number;
};
export type Waiter = {
  readonly toSeq: number;
  /** Nobody looks on: everything else goes first. */
  readonly isBackground: boolean;
  onStep?(step: Step): void;
  onProgress(progress: HistoryProgress): void;
  /** The fold has passed `toSeq`. The moment goes on afterwards. */
  onReached(moment: Moment): void;
  onFailed(error: unknown): void;
};
export type SharedFold = {
  /** What it has folded so far. */
  readonly seq: number;
  readonly isBackground: boolean;
  /** `waiter.toSeq` is not before `seq`. @returns a function that leaves */
  join(waiter: Waiter): () => void;
  /** To be called once. Resolves after `onEnded`. */
  run(): Promise<void>;
};
export type SharedFoldOptions = {
  readonly log: Pick<StoredLog, 'history' | 'range' | 'accepted'>;
  /** The entry at which `open` will begin. */
  readonly fromSeq: number;
  readonly open: () => Promise<Moment>;
  readonly onStep: (step: Step) => void;
  /** Nobody may join any more. Null: it never began, or what comes next is not in the log. */
  readonly onEnded: (moment: Moment | null) => void;
  /** Whether a fold that somebody waits for is under way. */
  readonly isOutranked: () => boolean;
};

type Joined = Waiter & { readonly joinedAt: number };
type OpenMoment = { -readonly [Key in keyof Moment]: Moment[Key] };
/** Thrown to leave a range of the log early. */
const nobodyWaits = Symbol('nobody waits');

export function createSharedFold(options: SharedFoldOptions): SharedFold {
  const waiters = createWaiters();
  let moment: OpenMoment | null = null;
  const position = () => moment?.seq ?? options.fromSeq;
  const pace = createPace({
    onTurn: () => waiters.tell(position()),
    isBackground: waiters.areBackground,
    isOutranked: options.isOutranked,
  });
  return {
    get seq() {
      return position();
    },
    get isBackground() {
      return waiters.areBackground();
    },
    join(waiter) {
      const leave = waiters.add(waiter, position());
      if (moment !== null) waiters.serve(moment, moment.seq);
      return leave;
    },
    async run() {
      try {
        // Somebody may join while a range is left.
        while (waiters.furthest() !== null) {
          moment ??= { ...(await options.open()) };
          await foldOn(moment, waiters, pace, options);
        }
      } catch (error) {
        if (error instanceof GapError) moment = null;
        waiters.fail(error);
      }
      options.onEnded(moment);
    },
  };
}

/** To where the last waiter is served, or until there is none. */
async function foldOn(at: OpenMoment, waiters: Waiters, pace: Pace, { log, onStep }: SharedFoldOptions): Promise<void> {
  waiters.serve(at, at.seq);
  const toSeq = waiters.furthest();
  if (toSeq === null) return;
  const leaveIfAlone = () => {
    if (waiters.furthest() === null) throw nobodyWaits;
  };
  const onMessage = (message: LogMessage) => {
    // Where a person has accepted that entries are missing, what is before them is the state.
    waiters.serve(at, message.seq - 1);
    leaveIfAlone();
    const silentFromMs = at.fleet.nowMs;
    const { outcomes } = foldMessage(at.fleet, message);
    at.seq = message.seq;
    at.last = message;
    const step = { message, outcomes, fleet: at.fleet, silentFromMs };
    onStep(step);
    waiters.step(step);
    waiters.serve(at, message.seq);
    leaveIfAlone();
    return pace.step();
  };
  try {
    await readUnbroken(log, { fromSeq: at.seq + 1, toSeq }, onMessage);
    waiters.serve(at, toSeq);
  } catch (error) {
    if (error !== nobodyWaits) throw error;
  }
}

type Waiters = ReturnType<typeof createWaiters>;

function createWaiters() {
  const waiters = new Set<Joined>();
  /** The entries at which the next waiter and the last are served; null: nobody waits. */
  let nextSeq = Number.POSITIVE_INFINITY;
  let furthest: number | null = null;
  const plan = () => {
    const seqs = [...waiters].map(({ toSeq }) => toSeq);
    nextSeq = Math.min(...seqs);
    furthest = seqs.length === 0 ? null : Math.max(...seqs);
  };
  return {
    furthest: () => furthest,
    areBackground: () => [...waiters].every((it) => it.isBackground),
    add(waiter: Waiter, joinedAt: number) {
      const joined = { ...waiter, joinedAt };
      waiters.add(joined);
      plan();
      return () => {
        waiters.delete(joined);
        plan();
      };
    },
    /** All up to `seq` is folded. */
    serve(reached: Moment, seq: number) {
      if (seq < nextSeq) return;
      const served = [...waiters].filter(({ toSeq }) => toSeq <= seq);
      for (const waiter of served) waiters.delete(waiter);
      plan();
      for (const waiter of served) waiter.onReached(reached);
    },
    step(step: Step) {
      for (const waiter of waiters) waiter.onStep?.(step);
    },
    tell(seq: number) {
      for (const { onProgress, joinedAt, toSeq } of waiters)
        onProgress({ done: seq - joinedAt, total: toSeq - joinedAt });
    },
    fail(error: unknown) {
      for (const waiter of waiters) waiter.onFailed(error);
      waiters.clear();
      plan();
    },
  };
}

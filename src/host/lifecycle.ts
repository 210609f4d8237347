/**
 * The lifecycle of a host as a statechart. It folds the stored entries, reaches the log's head, and leaves, or loses
 * its log. After each reconnect or pause it is behind again, and sends nothing until it has folded what was stored in
 * the meantime (protocol.md §9).
 */
import { assign, createActor, setup } from 'xstate';
import type { AppError } from '../errors.ts';

/**
 * `behind`: reads the log up to its head and sends nothing; at the start, and after each reconnect or pause. `head`:
 * sends decisions, answers, checks and timers. `closing`: finishes running work and starts none. `leaving`: ends before
 * it has reached the head, and sends nothing. `lost`: the folded state must not be used.
 */
export type Phase = 'behind' | 'head' | 'closing' | 'leaving' | 'lost';

type LifecycleEvent = { readonly type: 'fellBehind' | 'reachedHead' | 'started' | 'closed' | 'lost' };

const lifecycleMachine = setup({
  types: {} as { context: { readonly falls: number }; events: LifecycleEvent },
  actions: { countFall: assign({ falls: ({ context }) => context.falls + 1 }) },
}).createMachine({
  id: 'lifecycle',
  context: { falls: 0 },
  type: 'parallel',
  states: {
    fold: {
      initial: 'behind',
      on: { fellBehind: { actions: 'countFall' }, lost: '.lost' },
      states: {
        behind: { on: { reachedHead: 'head', closed: 'leaving' } },
        head: { on: { fellBehind: { target: 'behind', actions: 'countFall' }, closed: 'closing' } },
        closing: {},
        leaving: {},
        lost: {},
      },
    },
    requests: { initial: 'refused', states: { refused: { on: { started: 'taken' } }, taken: {} } },
  },
});

export type Lifecycle = {
  readonly phase: Phase;
  /** How often the host has fallen behind the log's head. */
  readonly falls: number;
  /** True once the log was folded to its head for the first time. Requests are accepted from then on. */
  readonly hasStarted: boolean;
  /** Aborted with an AppError, once, when the log is lost or the fold has failed. */
  readonly lost: AbortSignal;
  /** Returns why this host can never decide again, or null. */
  loss(): AppError | null;
  /**
   * Whether effects of the fold may be sent. Also detects a pause of the process that the timer has not detected yet.
   */
  isAtHead(): boolean;
  /** Whether an entry that was not stored may be retried. */
  isRunning(): boolean;
  reachHead(): void;
  start(): void;
  /** Entries may be stored that are not folded yet. Nothing is sent until they are. */
  fallBehind(why: string): void;
  /**
   * A host that ends during its start folds for a moment longer, but leaves open attempts to the remaining replicas.
   */
  leave(): void;
  /** Only the first error is kept. */
  lose(error: AppError): void;
  /** Calls back at each change of the phase. `why` is the reason of `fallBehind`, otherwise empty. */
  watch(onChange: (phase: Phase, why: string) => void): void;
};

/** @param clock this machine's clock, in milliseconds */
export function createLifecycle(clock: () => number): Lifecycle {
  const actor = createActor(lifecycleMachine).start();
  const lost = new AbortController();
  const pauses = createPauseWatch(clock);
  const watchers: ((phase: Phase, why: string) => void)[] = [];
  /** Cached after each event, because every folded entry reads it several times. */
  let phase: Phase = actor.getSnapshot().value.fold;
  const send = (type: LifecycleEvent['type'], why = '') => {
    const before = phase;
    actor.send({ type });
    const now = actor.getSnapshot().value.fold;
    phase = now;
    if (now === 'head' && before !== 'head') pauses.open(() => fallBehind(pauseMessage));
    if (now === 'closing' || now === 'leaving' || now === 'lost') pauses.close();
    if (now !== before) for (const onChange of watchers) onChange(now, why);
  };
  const fallBehind = (why: string) => {
    pauses.reset();
    send('fellBehind', why);
  };
  return {
    get phase() {
      return phase;
    },
    get falls() {
      return actor.getSnapshot().context.falls;
    },
    get hasStarted() {
      return actor.getSnapshot().value.requests === 'taken';
    },
    lost: lost.signal,
    loss: () => (lost.signal.aborted ? (lost.signal.reason as AppError) : null),
    isAtHead() {
      if (phase === 'head' && pauses.hasPaused()) fallBehind(pauseMessage);
      return phase === 'head' || phase === 'closing';
    },
    isRunning: () => phase === 'behind' || phase === 'head',
    reachHead() {
      pauses.reset();
      send('reachedHead');
    },
    start: () => send('started'),
    fallBehind,
    leave: () => send('closed'),
    lose(error) {
      lost.abort(error);
      send('lost');
    },
    watch: (onChange) => void watchers.push(onChange),
  };
}

const pauseMessage = 'this process did not run for a while';

type PauseWatch = {
  /** Whether the process has not run for longer than `pauseMsMax` since it was last seen running. */
  hasPaused(): boolean;
  /** Records that the process runs now. */
  reset(): void;
  /** Calls `onPause` after a pause that `hasPaused` has not reported first. */
  open(onPause: () => void): void;
  close(): void;
};

const tickMs = 250;
/** Shorter than the time to detect a dead owner: two pings, half a second apart. */
const pauseMsMax = 1_000;

/**
 * Detects that this process did not run for a while (SIGSTOP, a sleeping machine, a blocked event loop). Entries stored
 * in the meantime must be folded before anything is sent. Delayed timers and messages arrive in any order, so every
 * sender checks `isAtHead` first.
 */
function createPauseWatch(clock: () => number): PauseWatch {
  let seenMs = clock();
  let timer: NodeJS.Timeout | null = null;
  // A clock that was set back may hide a pause, so it counts as one.
  const hasPaused = () => Math.abs(clock() - seenMs) > pauseMsMax;
  const reset = () => {
    seenMs = clock();
  };
  return {
    hasPaused,
    reset,
    open(onPause) {
      reset();
      timer ??= setInterval(() => {
        if (hasPaused()) onPause();
        reset();
      }, tickMs).unref();
    },
    close() {
      if (timer !== null) clearInterval(timer);
    },
  };
}

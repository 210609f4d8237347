/**
 * The lifecycle of a host, as a chart: it folds what is stored, reaches the log's head, and leaves; or it loses its log. After
 * each reconnect and pause it is behind again, and nothing goes out before what was stored meanwhile is folded
 * (protocol.md §9).
 */
import { assign, createActor, setup } from 'xstate';
import type { AppError } from '../errors.ts';

/**
 * `behind`: the log is read up to its head, and nothing goes out; so at the start, and after each reconnect or pause.
 * `head`: decisions, answers, checks and timers go out. `closing`: what has begun is finished, nothing else begins.
 * `leaving`: it ends before it has reached the head, so nothing goes out any more. `lost`: nothing that was folded may be
 * used.
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
  /** Counts how often something was stored that may not be folded yet. */
  readonly falls: number;
  /** The log was folded to its head once: from then on requests are taken. */
  readonly hasStarted: boolean;
  /** Aborted with an AppError, once, when the log is lost or the fold has failed. */
  readonly lost: AbortSignal;
  /** Says why nothing can be decided any more, or null. */
  loss(): AppError | null;
  /** Effects of the fold may go out. A pause of the process that nobody has noticed yet is noticed here. */
  isAtHead(): boolean;
  /** An entry that is not stored yet may be tried again. */
  isRunning(): boolean;
  reachHead(): void;
  start(): void;
  /** Something may be stored that is not folded: nothing goes out until it is. */
  fallBehind(why: string): void;
  /** An end during the start still folds for a moment: what it finds undecided or unsent is for those that stay. */
  leave(): void;
  /** The first error counts. */
  lose(error: AppError): void;
  /** Calls back at each change of the phase. `why`: of a fall. */
  watch(onChange: (phase: Phase, why: string) => void): void;
};

/** @param clock this machine's, in milliseconds */
export function createLifecycle(clock: () => number): Lifecycle {
  const actor = createActor(lifecycleMachine).start();
  const lost = new AbortController();
  const pauses = createPauseWatch(clock);
  const watchers: ((phase: Phase, why: string) => void)[] = [];
  /** The chart's, read once for each event: it is asked for several times for each entry. */
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
  /** The process did not run for longer than `pauseMsMax` since it was last seen running. */
  hasPaused(): boolean;
  /** Notes that the process runs. */
  reset(): void;
  /** Calls `onPause` after a pause that nobody has asked about. */
  open(onPause: () => void): void;
  close(): void;
};

const tickMs = 250;
/** Shorter than a takeover, which takes two pings half a second apart. */
const pauseMsMax = 1_000;

/**
 * Notices that this process did not run for a while (SIGSTOP, a machine that slept, a blocked event loop): what was
 * stored meanwhile must be folded before anything is done. Timers and messages that were waiting come in any order, so
 * whoever acts asks first.
 */
function createPauseWatch(clock: () => number): PauseWatch {
  let seenMs = clock();
  let timer: NodeJS.Timeout | null = null;
  // A clock that is set back may hide a pause, so that counts as one.
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

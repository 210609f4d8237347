/**
 * Timers. Only entries move the log's clock, so if a deadline is due and no entry comes, a replica must append one.
 * Every replica waits for the first deadline of the folded state. The owner fires first, the others a little later.
 */
import { type Deadline, type Entry, type Fleet, retriedMessageId, type TimerEffect } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import { sleep, startTimer, type Timer } from '../../timer.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { subject } from '../own-entries.ts';
import type { Performer, Run } from './effects.ts';

const standbyMs = 200;
const retryMsMin = 50;
const retryMsMax = 1_000;

type TimerFired = Extract<Entry, { readonly type: 'timer.fired' }>;

export type Timers = Performer<TimerEffect> & {
  /** Called when a `timer.fired` entry is folded. `replica` is the one that appended it. */
  onFired(entry: TimerFired, replica: string | undefined): void;
};

export type TimersOptions = {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly lifecycle: Pick<Lifecycle, 'isAtHead'>;
  readonly log: Pick<EventLog, 'submit'>;
  readonly logClock: Pick<LogClock, 'server'>;
  readonly bus: { isConnected(): boolean };
  readonly newId: () => string;
};

/** The running timer. `postpone` is called when another replica has fired it too early. */
type Waiting = { readonly deadline: Deadline; postpone(): void };

export function createTimers(options: TimersOptions): Timers {
  let waiting: Waiting | null = null;
  return {
    runsOnAllReplicas: true,
    async perform(effect, run) {
      const timer = startDeadline(options, effect, run);
      waiting = timer;
      await sleep(null, run.signal);
      if (waiting === timer) waiting = null;
      return null;
    },
    onFired({ id, data }, replica) {
      if (replica === options.replica || waiting === null) return;
      const { deadline } = waiting;
      const isSame = id === deadline.id && data.timer === deadline.kind && (data.attempt ?? '') === deadline.attempt;
      if (isSame) waiting.postpone();
    },
  };
}

function startDeadline(options: TimersOptions, effect: TimerEffect, { signal, isNeeded, giveBack }: Run): Waiting {
  const { logClock, lifecycle, bus } = options;
  const { dueMs, owner } = effect;
  const turnMs = owner === null || owner === options.replica ? 0 : standbyMs;
  let timer: Timer;
  let tries = 0;
  /** Suffix of the message ids, set once the ids that all replicas would choose are taken. */
  let unique = '';
  /** Uses the server's clock: while that is behind the log's, an entry stored now would not move the log's clock. */
  const untilDueMs = () => Math.max(dueMs - logClock.server(), 0);
  const wait = (delayMs: number) => {
    timer = startTimer(delayMs + turnMs, fire);
  };
  const waitAgain = () => wait(Math.max(retryMsMin, untilDueMs(), Math.min(retryMsMax, retryMsMin * tries)));
  const fire = () => {
    // Another deadline is now the first, or the host is behind and the effect is requested again at the head.
    if (!lifecycle.isAtHead() || !isNeeded()) {
      giveBack();
      return;
    }
    // While the connection is broken, tries would only pile up.
    if (untilDueMs() === 0 && bus.isConnected()) {
      tries += 1;
      append(options, effect, `${tries}${unique}`, (isDuplicate) => {
        // Another replica or an agent has used this message id, so the next tries need other ids.
        if (isDuplicate) unique = `:${options.newId()}`;
      });
    }
    // The entry may be too early by the log's clock, or may not be stored. Then try again under a new id.
    waitAgain();
  };
  wait(untilDueMs());
  signal.addEventListener('abort', () => timer.clear());
  return {
    deadline: effect.data,
    postpone() {
      if (!isNeeded()) return;
      // The replica that appended it keeps trying. More entries from the others would not help.
      tries += 1;
      timer.clear();
      waitAgain();
    },
  };
}

function append(
  options: TimersOptions,
  { key, data: { kind, id, attempt } }: TimerEffect,
  tries: string,
  onStored: (isDuplicate: boolean) => void,
): void {
  const entity = kind === 'evaluation' ? 'task' : kind === 'unattended' ? 'queue' : 'worker';
  const data = kind === 'attempt' || kind === 'evaluation' ? { timer: kind, attempt } : { timer: kind };
  const headers = { messageId: retriedMessageId(key, tries), replica: options.replica };
  const target = subject(options, `own.${entity}.${id}.timer.fired`);
  options.log.submit(target, JSON.stringify(data), headers, (answer) => {
    if (!(answer instanceof AppError)) onStored(answer.duplicate);
  });
}

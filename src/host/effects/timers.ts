/**
 * Timers: if something is due and no entry comes, a replica must append one, since only entries move the log's clock.
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
  /** An entry that moves the log's clock was folded, of this replica or of another. */
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

/** The timer that waits. `putOff`: another replica has fired it, and too early. */
type Waiting = { readonly deadline: Deadline; putOff(): void };

export function createTimers(options: TimersOptions): Timers {
  let waiting: Waiting | null = null;
  return {
    standsBy: true,
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
      const isIts = id === deadline.id && data.timer === deadline.kind && (data.attempt ?? '') === deadline.attempt;
      if (isIts) waiting.putOff();
    },
  };
}

function startDeadline(options: TimersOptions, effect: TimerEffect, { signal, isNeeded, giveBack }: Run): Waiting {
  const { logClock, lifecycle, bus } = options;
  const { dueMs, owner } = effect;
  const turnMs = owner === null || owner === options.replica ? 0 : standbyMs;
  let timer: Timer;
  let tries = 0;
  /** Added to the message ids: an agent has used those that all replicas would choose. */
  let unique = '';
  /** While the server's clock is behind the log's, nothing that is stored moves that. */
  const untilDueMs = () => Math.max(dueMs - logClock.server(), 0);
  const wait = (delayMs: number) => {
    timer = startTimer(delayMs + turnMs, fire);
  };
  const waitAgain = () => wait(Math.max(retryMsMin, untilDueMs(), Math.min(retryMsMax, retryMsMin * tries)));
  const fire = () => {
    // Another deadline is the first by now; or it is asked for again at the head.
    if (!lifecycle.isAtHead() || !isNeeded()) {
      giveBack();
      return;
    }
    // While the connection is broken an append would only queue up with all the later tries.
    if (untilDueMs() === 0 && bus.isConnected()) {
      tries += 1;
      append(options, effect, `${tries}${unique}`, (isDuplicate) => {
        // Another replica's entry has moved the clock; its ids are taken, so the next tries need others.
        if (isDuplicate) unique = `:${options.newId()}`;
      });
    }
    // It may be too early by the log's clock, or not be stored at all: then another one, under a new id.
    waitAgain();
  };
  wait(untilDueMs());
  signal.addEventListener('abort', () => timer.clear());
  return {
    deadline: effect.data,
    putOff() {
      if (!isNeeded()) return;
      // Whoever appended it goes on, and the others would only append as many more.
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

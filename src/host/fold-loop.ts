/** The fold loop: a message of the log comes in, is folded, and its outcomes are applied. */
import { describeUnknownRules, type Entry, type Outcome } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { onAttemptRefused, onAttemptStored } from './attempts.ts';
import { type HostContext, isAtHead, subject } from './context.ts';
import type { DeadLetters } from './dead-letters.ts';
import { onDecisionPublished } from './decisions.ts';
import { foldMessage } from './fold-message.ts';
import { type ActingRooms, applyOutcome } from './outcomes.ts';
import type { PolicyPublisher } from './policy-publisher.ts';
import { upgradeRules } from './rules-upgrade.ts';
import type { Snapshots } from './snapshots.ts';
import type { Timers } from './timers.ts';

export type FoldRooms = ActingRooms & {
  readonly deadLetters: DeadLetters;
  readonly policies: PolicyPublisher;
  readonly timers: Timers;
  readonly snapshots: Snapshots;
};

export type FoldLoop = { receive(message: LogMessage): void };

export function createFoldLoop(context: HostContext, rooms: FoldRooms): FoldLoop {
  const decisionPrefix = subject(context, 'decision.');
  const processMessage = (message: LogMessage) => {
    fold(context, rooms, message);
    if (message.subject.startsWith(decisionPrefix))
      onDecisionPublished(context, rooms.outbox, message.subject.slice(decisionPrefix.length), message);
    if (isAtHead(context)) {
      context.logClock.observe(message.atMs);
      rooms.timers.arm();
    }
    context.progress.advance(message);
    rooms.snapshots.onFolded(message.seq);
    rooms.observers.folded(message);
  };
  return {
    receive(message) {
      try {
        processMessage(message);
      } catch (error) {
        end(context, message, error);
      }
    },
  };
}

/** A fold that throws is our own bug, and its state cannot be trusted any more: the process must end. */
function end(context: HostContext, { seq, subject: at }: LogMessage, error: unknown): void {
  context.logger.error({ err: error, seq, subject: at }, 'the fold failed');
  context.lost.abort(new AppError('log.unavailable', `the fold failed at entry ${seq}`));
  context.onBroken(false);
}

function fold(context: HostContext, rooms: FoldRooms, message: LogMessage): void {
  const startedMs = performance.now();
  const { read, outcomes } = foldMessage(context.fleet, message, rooms.outbox.findMade);
  if (read === null) {
    for (const outcome of outcomes) {
      if (outcome.kind === 'decided')
        context.logger.warn(
          { seq: message.seq, workerId: outcome.decision.worker },
          'the decision in the log is taken, not our own',
        );
      applyOutcome(context, rooms, outcome, message, startedMs);
    }
    return;
  }
  context.metrics.folded(message.subject);
  if (!('data' in read)) {
    rooms.deadLetters.put(message, read);
    return;
  }
  const { unknownRules, rulesKnown } = context.fleet;
  if (unknownRules !== null) {
    context.lost.abort(new AppError('rules.unknown', describeUnknownRules(unknownRules, rulesKnown)));
    return;
  }
  onStored(context, rooms, message, read, outcomes);
  for (const outcome of outcomes) applyOutcome(context, rooms, outcome, message, startedMs);
}

const decoder = new TextDecoder();

/** Tells the rooms that wait for such an entry. Its outcomes come after. */
function onStored(
  context: HostContext,
  { evaluations, policies, timers }: FoldRooms,
  message: LogMessage,
  entry: Entry,
  outcomes: readonly Outcome[],
): void {
  switch (entry.type) {
    case 'stop.attempted': {
      const refusal = refusalOf(entry, outcomes);
      if (refusal === null) onAttemptStored(context, message, entry.id, entry.data.attempt ?? `seq-${message.seq}`);
      else onAttemptRefused(context, message, entry.id, refusal);
      return;
    }
    case 'iteration.validated': {
      const attempt = entry.data.attempt ?? `seq-${message.seq}`;
      evaluations.onStored(message, entry.id, attempt, refusalOf(entry, outcomes));
      return;
    }
    case 'timer.fired':
      timers.onFired(entry, message.header('Stopgate-Replica'));
      return;
    case 'replica.joined':
    case 'replica.left':
      upgradeRules(context);
      return;
    case 'policy.set':
      policies.onStored(JSON.parse(decoder.decode(message.data)), message.header('Stopgate-Replica'));
      return;
  }
}

/** Why the fold refused the entry itself; null: it did not. */
function refusalOf({ type }: Entry, outcomes: readonly Outcome[]): string | null {
  const refused = outcomes.find((it) => it.kind === 'refused' && it.type === type);
  return refused?.kind === 'refused' ? refused.reason : null;
}

/** The fold loop: a message of the log comes in, is folded, and what happened reaches whoever waits for it. */
import {
  attemptMessageId,
  type Decision,
  describeUnknownRules,
  type Entry,
  noteDecision,
  type Outcome,
  ownerFor,
  parseDecisionMessageId,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import { upgradeRules } from '../maintenance/membership.ts';
import { subject } from '../own-entries.ts';
import type { HostParts } from '../parts.ts';
import { encodeMade } from './decision-bytes.ts';
import { foldMessage } from './fold-message.ts';

export type FoldLoop = { receive(message: LogMessage): void };

export function createFoldLoop(parts: HostParts): FoldLoop {
  const { lifecycle, logClock, progress } = parts;
  const decisionPrefix = subject(parts, 'decision.');
  const processMessage = (message: LogMessage) => {
    // Asked once: each time is a look at two clocks.
    const isAtHead = lifecycle.isAtHead();
    fold(parts, message, isAtHead);
    if (message.subject.startsWith(decisionPrefix))
      onDecisionPublished(parts, message.subject.slice(decisionPrefix.length), message);
    if (isAtHead) logClock.observe(message.atMs);
    progress.advance(message);
    parts.snapshots.onFolded(message.seq, message.data.length);
    parts.observers.folded(message);
  };
  return {
    receive(message) {
      try {
        processMessage(message);
      } catch (error) {
        end(parts, message, error);
      }
    },
  };
}

/** A fold that throws is our own bug, and its state cannot be trusted any more: the process must end. */
function end(parts: HostParts, { seq, subject: at }: LogMessage, error: unknown): void {
  parts.logger.error({ err: error, seq, subject: at }, 'the fold failed');
  parts.lifecycle.lose(new AppError('log.unavailable', `the fold failed at entry ${seq}`));
  parts.onBroken(false);
}

function fold(parts: HostParts, message: LogMessage, isAtHead: boolean): void {
  const startedMs = performance.now();
  const { read, outcomes, touched } = foldMessage(parts.fleet, message, parts.outbox.findMade);
  if (read !== null) {
    parts.metrics.folded(message.subject);
    if (!('data' in read)) {
      parts.deadLetters.put(message, read);
      parts.refusals.note(message.seq, actorOf(message), read.message);
      return;
    }
    const { unknownRules, rulesKnown } = parts.fleet;
    if (unknownRules !== null) {
      parts.lifecycle.lose(new AppError('rules.unknown', describeUnknownRules(unknownRules, rulesKnown)));
      return;
    }
    onStored(parts, message, read, outcomes);
    const refusal = refusalOf(read, outcomes);
    if (refusal !== null) parts.refusals.note(message.seq, actorOf(message), refusal);
  }
  for (const outcome of outcomes) {
    if (read === null && outcome.kind === 'decided')
      parts.logger.warn(
        { seq: message.seq, workerId: outcome.decision.worker },
        'the decision in the log is taken, not our own',
      );
    applyOutcome(parts, outcome, { message, startedMs, isAtHead });
  }
  if (touched.size === 0) return;
  if (isAtHead) parts.effects.touch(touched);
  parts.observers.touched(touched);
}

/** Returns `<entity>.<id>` of the subject. */
function actorOf({ subject: at }: LogMessage): string {
  const [, , area = '', ...more] = at.split('.');
  return (area === 'own' ? more.slice(0, 2) : [area, ...more.slice(0, 1)]).join('.');
}

const decoder = new TextDecoder();

/** Tells the parts that wait for such an entry. Its outcomes come after. */
function onStored(parts: HostParts, message: LogMessage, entry: Entry, outcomes: readonly Outcome[]): void {
  switch (entry.type) {
    case 'stop.attempted':
      onAttemptStored(parts, message, entry.id, entry.data.attempt ?? `seq-${message.seq}`, outcomes);
      return;
    case 'iteration.validated': {
      const attempt = entry.data.attempt ?? `seq-${message.seq}`;
      parts.evaluations.onStored(message, entry.id, attempt, refusalOf(entry, outcomes));
      return;
    }
    case 'timer.fired':
      parts.timers.onFired(entry, message.header('Stopgate-Replica'));
      return;
    case 'replica.joined':
    case 'replica.left':
      upgradeRules(parts);
      return;
    case 'policy.set':
      parts.policies.onStored(JSON.parse(decoder.decode(message.data)), message.header('Stopgate-Replica'));
      return;
  }
}

/** `attempt`: its id, or the one that the fold has given it. */
function onAttemptStored(
  { attempts }: HostParts,
  message: LogMessage,
  worker: string,
  attempt: string,
  outcomes: readonly Outcome[],
): void {
  let isDecided = false;
  for (const outcome of outcomes) {
    if (outcome.kind === 'refused' && outcome.type === 'stop.attempted') {
      attempts.onRefused(message, worker, attempt, outcome.reason);
      return;
    }
    if (outcome.kind === 'repeated') return;
    isDecided ||= outcome.kind === 'decided' && outcome.decision.seq === message.seq;
  }
  attempts.onStored(message, worker, attempt, isDecided);
}

/** Says why the fold refused the entry itself; null: it did not. */
function refusalOf({ type }: Entry, outcomes: readonly Outcome[]): string | null {
  const refused = outcomes.find((it) => it.kind === 'refused' && it.type === type);
  return refused?.kind === 'refused' ? refused.reason : null;
}

/** The entry that is folded. `startedMs`: when that began, by `performance.now()`. */
type Folding = { readonly message: LogMessage; readonly startedMs: number; readonly isAtHead: boolean };

function applyOutcome(parts: HostParts, outcome: Outcome, folding: Folding): void {
  switch (outcome.kind) {
    case 'decided':
      onDecided(parts, outcome, folding);
      return;
    case 'repeated':
      void parts.repeatedAttempts.onRepeated(folding.message, outcome.worker, outcome.attempt);
      return;
    case 'validated':
      parts.evaluations.onEvaluated(outcome.task, outcome.attempt, outcome.result);
      return;
    default:
      // What happened in history was reported when it was new.
      if (folding.isAtHead) report(parts, outcome);
  }
}

/** Reports an outcome that nobody waits for to the metrics and the service's own log. */
function report({ fleet, replica, logger, metrics, traces }: HostParts, outcome: Outcome): void {
  switch (outcome.kind) {
    case 'hooksEvaluated':
      for (const run of outcome.runs) metrics.hookRan(run);
      return;
    case 'used':
      // One replica counts it, so that their sum is what was used.
      if (ownerFor(fleet, `usage ${fleet.seq}`, null) !== replica) return;
      metrics.used(outcome.report);
      traces.onUsed(outcome.worker, outcome.report);
      return;
    case 'handedBack':
      logger.warn({ workerId: outcome.worker, taskId: outcome.task }, 'task of a stale worker handed back');
      return;
    case 'refused': {
      const { entity, id, type, reason } = outcome;
      metrics.refused(type);
      logger.info({ [entity]: id, type, reason }, 'entry not valid in the current state');
      return;
    }
  }
}

function onDecided(
  parts: HostParts,
  { decision: bare, openedMs }: Extract<Outcome, { kind: 'decided' }>,
  { message, startedMs, isAtHead }: Folding,
): void {
  const { fleet, replica, replyInboxes, attempts, outbox } = parts;
  const { worker, attempt } = bare;
  const key = attemptMessageId(worker, attempt as string);
  const record = fleet.workers.get(worker);
  const tookMs = Math.round((fleet.nowMs - openedMs + performance.now() - startedMs) * 1_000) / 1_000;
  const decision: Decision = { ...bare, replica, tookMs };
  // Behind the head most are answered and stored already, and need no text.
  if (isAtHead) encodeMade(decision);
  const inboxes = replyInboxes.take(key);
  // By the attempt's own entry: no check came between.
  const isAtOnce = decision.seq === message.seq;
  attempts.onDecided(decision, isAtOnce ? message : null);
  outbox.put(decision, record?.owner ?? null, inboxes, isAtOnce);
  const traceId = parts.traces.onDecided(decision);
  if (isAtHead) reportDecision(parts, decision, traceId);
}

/** A decision entry came back from the log. */
function onDecisionPublished({ fleet, outbox }: HostParts, worker: string, { seq, header }: LogMessage): void {
  const attempt = parseDecisionMessageId(worker, header('Nats-Msg-Id') ?? '');
  if (attempt === null) return;
  noteDecision(fleet, worker, attempt, seq);
  outbox.onPublished(worker, attempt);
}

function reportDecision({ logger, metrics }: HostParts, decision: Decision, traceId: string | undefined): void {
  metrics.decided(decision);
  const { worker: workerId, attempt, seq, cause, reason } = decision;
  const line = { workerId, attempt, seq, cause, reason, traceId };
  const inError = decision.verdicts.find(({ verdict }) => verdict === 'error');
  if (cause === 'capped') logger.warn(line, 'stop allowed at the cap');
  else if (inError !== undefined) logger.warn({ ...line, ...describeError(decision) }, 'a check could not be judged');
  // Each is an entry and a metric already, and a line would cost as much as the rest of the answer.
  else logger.debug(line, decision.decision === 'allow' ? 'stop allowed' : 'stop blocked');
}

const strictHints = {
  checks: 'a check with "onError: block" in its policy blocks such a stop, one with "onError: escalate" asks a person',
  hooks: 'a hook that is registered without "onError: skip" asks a person instead',
} as const;

/** Which checks or hooks, why, and what would not have let it pass. */
function describeError({ cause, verdicts, feedback }: Decision) {
  const inError = verdicts.filter(({ verdict }) => verdict === 'error');
  const checks = feedback
    .filter(({ outcome }) => outcome === 'error' || outcome === 'timeout')
    .map(({ check }) => check);
  const detail = inError.map((it) => it.detail).join('; ');
  if (cause !== 'unjudged') return { checks, detail };
  const hint = inError.map(({ guard }) => strictHints[guard as keyof typeof strictHints]).join('; ');
  return { checks, detail, hint };
}

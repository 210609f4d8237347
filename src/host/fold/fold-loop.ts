/** The fold loop: folds each message of the log and passes the outcomes to the parts and callers that wait for them. */
import {
  attemptMessageId,
  type Decision,
  describeUnknownRules,
  type Entry,
  type FoldOutcome,
  noteDecision,
  ownerFor,
  parseDecisionMessageId,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { Evaluation } from '../../telemetry/evaluations.ts';
import { foldedChecks } from '../intake/folded-checks.ts';
import { upgradeRules } from '../maintenance/membership.ts';
import { subject } from '../own-entries.ts';
import type { HostParts } from '../parts.ts';
import { encodeNew } from './decision-bytes.ts';
import { foldMessage } from './fold-message.ts';

export type FoldLoop = { receive(message: LogMessage): void };

export function createFoldLoop(parts: HostParts): FoldLoop {
  const { lifecycle, logClock, progress } = parts;
  const decisionPrefix = subject(parts, 'decision.');
  const processMessage = (message: LogMessage) => {
    // Called once per message, because each call reads two clocks.
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

/** A fold that throws is our own bug. Its state can no longer be trusted, so the process must end. */
function end(parts: HostParts, message: LogMessage, error: unknown): void {
  const { seq } = message;
  parts.logger.error({ err: error, seq, subject: message.subject }, 'the fold failed');
  parts.lifecycle.lose(new AppError('log.unavailable', `the fold failed at entry ${seq}`));
  parts.onBroken(false);
}

function fold(parts: HostParts, message: LogMessage, isAtHead: boolean): void {
  const startedMs = performance.now();
  const { read, outcomes, touched } = foldMessage(parts.fleet, message, parts.outbox.findOwn);
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
        'the decision in the log replaces our own',
      );
    applyOutcome(parts, outcome, { message, startedMs, isAtHead });
  }
  if (touched.size === 0) return;
  if (isAtHead) parts.effects.touch(touched);
  parts.observers.touched(touched);
}

/** Returns the `<entity>.<id>` part of the subject. */
function actorOf(message: LogMessage): string {
  const [, , area = '', ...rest] = message.subject.split('.');
  return (area === 'own' ? rest.slice(0, 2) : [area, ...rest.slice(0, 1)]).join('.');
}

const decoder = new TextDecoder();

/** Notifies the parts that wait for an entry of this type, before its outcomes are applied. */
function onStored(parts: HostParts, message: LogMessage, entry: Entry, outcomes: readonly FoldOutcome[]): void {
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

/** @param attempt the attempt's id, or the `seq-<seq>` that the fold has assigned */
function onAttemptStored(
  { attempts }: HostParts,
  message: LogMessage,
  worker: string,
  attempt: string,
  outcomes: readonly FoldOutcome[],
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

/** Returns why the fold refused the entry itself, or null. */
function refusalOf({ type }: Entry, outcomes: readonly FoldOutcome[]): string | null {
  const refused = outcomes.find((outcome) => outcome.kind === 'refused' && outcome.type === type);
  return refused?.kind === 'refused' ? refused.reason : null;
}

/** The message being folded. `startedMs` is the start of its fold, by `performance.now()`. */
type Folding = { readonly message: LogMessage; readonly startedMs: number; readonly isAtHead: boolean };

function applyOutcome(parts: HostParts, outcome: FoldOutcome, folding: Folding): void {
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
      // Older outcomes were reported when they were new.
      if (folding.isAtHead) report(parts, outcome);
  }
}

/**
 * Tells whether this replica reports what the current entry did. Every replica folds it and one reports it, so that sums
 * over all replicas are correct.
 * @param owner the replica that acts for the attempt, or null
 */
const isReporter = ({ fleet, replica }: HostParts, owner: string | null): boolean =>
  ownerFor(fleet, `report ${fleet.seq}`, owner) === replica;

/** Reports an outcome to the metrics and the service's own log. Nobody waits for these. */
function report(parts: HostParts, outcome: FoldOutcome): void {
  if (!isReporter(parts, null)) return;
  const { logger, metrics, traces } = parts;
  switch (outcome.kind) {
    case 'hooksEvaluated':
      for (const run of outcome.runs) metrics.hookRan(run);
      return;
    case 'used':
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
  { decision: folded, openedMs }: Extract<FoldOutcome, { kind: 'decided' }>,
  { message, startedMs, isAtHead }: Folding,
): void {
  const { fleet, replica, replyInboxes, attempts, outbox } = parts;
  const { worker, attempt } = folded;
  const key = attemptMessageId(worker, attempt as string);
  const record = fleet.workers.get(worker);
  const tookMs = Math.round((fleet.nowMs - openedMs + performance.now() - startedMs) * 1_000) / 1_000;
  const decision: Decision = { ...folded, replica, tookMs };
  // Behind the head, most decisions are answered and stored already and need no encoding.
  if (isAtHead) encodeNew(decision);
  const inboxes = replyInboxes.take(key);
  // True if the attempt's own entry was decided without waiting for a check.
  const isImmediate = decision.seq === message.seq;
  attempts.onDecided(decision, isImmediate ? message : null);
  outbox.put(decision, record?.owner ?? null, inboxes, isImmediate);
  const traceId = parts.traces.onDecided(decision, () =>
    isAtHead && record?.owner === replica ? checksOf(fleet, decision) : [],
  );
  if (isAtHead && isReporter(parts, record?.owner ?? null)) reportDecision(parts, decision, traceId);
}

function checksOf(fleet: HostParts['fleet'], decision: Decision): readonly Evaluation[] {
  const { name, seq } = decision.policy;
  const policy = seq === fleet.policySeq ? fleet.policies.policies.get(name) : undefined;
  return policy === undefined ? [] : foldedChecks(decision, policy.checks);
}

/** Called when a decision entry comes back from the log. */
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
  const inError = decision.verdicts.filter(({ verdict }) => verdict === 'error');
  const isJudged = inError.every(({ guard }) => guard === 'policy');
  if (cause === 'capped') logger.warn(line, 'stop allowed at the cap');
  else if (!isJudged) logger.warn({ ...line, ...describeError(decision) }, 'a check could not be judged');
  else if (inError.length > 0) logger.warn({ ...line, detail: inError[0]?.detail }, 'a policy is unknown');
  // For debugging only: each decision is an entry and a metric already, and a log line costs as much as the whole
  // answer.
  else logger.debug(line, decision.decision === 'allow' ? 'stop allowed' : 'stop blocked');
}

const strictHints = {
  checks: 'a check with "onError: block" in its policy blocks such a stop, one with "onError: escalate" asks a person',
  hooks: 'a hook that is registered without "onError: skip" asks a person instead',
} as const;

/**
 * Names the checks or hooks in error and the reason, and hints at the setting that would not have let the stop pass.
 */
function describeError({ cause, verdicts, feedback }: Decision) {
  const inError = verdicts.filter(({ verdict }) => verdict === 'error');
  const checks = feedback
    .filter(({ outcome }) => outcome === 'error' || outcome === 'timeout')
    .map(({ check }) => check);
  const detail = inError.map((row) => row.detail).join('; ');
  if (cause !== 'unjudged') return { checks, detail };
  const hint = inError.map(({ guard }) => strictHints[guard as keyof typeof strictHints]).join('; ');
  return { checks, detail, hint };
}

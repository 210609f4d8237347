/** Delivers a decision of the fold to everyone who waits for it: callers here, an inbox, the log, the metrics. */
import {
  attemptMessageId,
  type Decision,
  noteDecision,
  type Outcome,
  parseDecisionMessageId,
} from '../../../machines/index.ts';
import type { LogMessage } from '../../nats/log-reader.ts';
import type { HostContext } from '../context.ts';
import type { Outbox } from './outbox.ts';

/** @param startedMs when the fold of `message` began, by `performance.now()` */
export function onDecided(
  context: HostContext,
  outbox: Outbox,
  { decision: bare, openedMs }: Extract<Outcome, { kind: 'decided' }>,
  message: LogMessage,
  startedMs: number,
): void {
  const { fleet, replica, replyInboxes } = context;
  const { worker, attempt } = bare;
  const key = attemptMessageId(worker, attempt as string);
  const record = fleet.workers.get(worker);
  const tookMs = Math.round((fleet.nowMs - openedMs + performance.now() - startedMs) * 1_000) / 1_000;
  const decision: Decision = { ...bare, replica, tookMs };
  const inboxes = replyInboxes.take(key);
  context.decisionWaiters.settle(key, decision);
  // Decided by the attempt's own entry: no check came between.
  outbox.put(decision, record?.owner ?? null, inboxes, decision.seq === message.seq);
  const traceId = context.traces.onDecided(decision);
  if (context.life.isAtHead()) report(context, decision, traceId);
}

/** A decision entry came back from the log. */
export function onDecisionPublished(
  { fleet }: HostContext,
  outbox: Outbox,
  worker: string,
  { seq, header }: LogMessage,
): void {
  const attempt = parseDecisionMessageId(worker, header('Nats-Msg-Id') ?? '');
  if (attempt === null) return;
  noteDecision(fleet, worker, attempt, seq);
  outbox.onPublished(worker, attempt);
}

function report({ logger, metrics }: HostContext, decision: Decision, traceId: string | undefined): void {
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

const encoded = new WeakMap<Decision, Uint8Array>();

export function encodeDecision(decision: Decision): Uint8Array {
  const known = encoded.get(decision);
  if (known !== undefined) return known;
  const bytes = Buffer.from(JSON.stringify(decision));
  encoded.set(decision, bytes);
  return bytes;
}

/**
 * Traces of attempts, if tracing is on. Each has a span from its request (or its entry) to its decision, with child
 * spans for each check and for the decision with its guards. Each check is also an event, if these are on. The replica
 * that owns the attempt records both.
 */
import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { attemptMessageId, type CheckResult, type Decision, type UsageReport } from '../../../machines/index.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import { type Evaluation, emitEvaluation, isEvaluating } from '../../telemetry/evaluations.ts';
import { inSpan, isTracing, startSpan, type TraceHeaders, traceHeaders } from '../../telemetry/tracing.ts';

export type AttemptTraces = {
  /**
   * Called when an attempt is sent to the log, perhaps again. `key` is the key of its waiters.
   * @returns headers for its entry, so that any replica can continue the trace
   */
  onSubmitted(worker: string, key: string): TraceHeaders;
  /** Called when the last waiter for the attempt fails. */
  onFailed(key: string, error: Error): void;
  /**
   * Called when its entry is folded.
   * @param key that of `onSubmitted`. @param isOurs whether this replica owns the attempt
   */
  onStored(message: LogMessage, worker: string, attempt: string, key: string, isOurs: boolean): void;
  /** Runs a check of the attempt in a span, which a request to a remote check propagates. */
  callCheck(worker: string, attempt: string, check: string, call: () => Promise<CheckResult>): Promise<CheckResult>;
  /** Records a usage report as a span. */
  onUsed(worker: string, report: UsageReport): void;
  /**
   * @param checks the checks that the fold evaluated; called only if this replica records them
   * @returns the trace id, or undefined if the trace is not recorded here
   */
  onDecided(decision: Decision, checks: () => readonly Evaluation[]): string | undefined;
};

type Options = {
  readonly fleet: string;
  readonly replica: string;
  readonly clock: () => number;
  /** Returns the agent of a worker, such as `claude`, or null if unknown. */
  readonly agentOf: (worker: string) => string | null;
};

const attemptSpan = 'stopgate.attempt';

export function createAttemptTraces({ fleet, replica, clock, agentOf }: Options): AttemptTraces {
  /** By the key of the waiters until the entry is folded, then by `attemptMessageId`. Removed when the attempt ends. */
  const spans = new Map<string, Span>();
  const about = (worker: string) => ({
    'stopgate.fleet': fleet,
    'stopgate.worker': worker,
    'stopgate.replica': replica,
    ...agentAttributes(worker, agentOf(worker)),
  });
  return {
    onSubmitted(worker, key) {
      if (!isTracing()) return {};
      const span = spans.get(key) ?? startSpan(attemptSpan, { kind: SpanKind.SERVER, attributes: about(worker) });
      spans.set(key, span);
      return traceHeaders(span);
    },
    onFailed(key, error) {
      const span = take(spans, key);
      span?.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
      span?.end();
    },
    onStored(message, worker, attempt, key, isOurs) {
      if (!isTracing()) return;
      const options = { kind: SpanKind.SERVER, startTime: message.atMs, attributes: about(worker) };
      const span = take(spans, key) ?? (isOurs ? startSpan(attemptSpan, options, message.header) : undefined);
      if (span === undefined) return;
      spans.set(attemptMessageId(worker, attempt), span);
      span.setAttribute('stopgate.attempt', attempt);
    },
    async callCheck(worker, attempt, check, call) {
      const parent = spans.get(attemptMessageId(worker, attempt));
      const result =
        parent === undefined ? await call() : await inCheckSpan(check, { about: about(worker), parent }, call);
      const { outcome, reason } = result;
      if (isEvaluating())
        emitEvaluation({ check, outcome, reason }, { ...about(worker), 'stopgate.attempt': attempt }, parent);
      return result;
    },
    onUsed(worker, report) {
      if (!isTracing()) return;
      const nowMs = clock();
      const attributes = { ...about(worker), ...usageAttributes(report) };
      startSpan('stopgate.usage', { startTime: nowMs, attributes }, null).end(nowMs);
    },
    onDecided(decision, checks) {
      const { worker, attempt } = decision;
      const span = take(spans, attemptMessageId(worker, attempt ?? ''));
      const attributes = () => ({ ...about(worker), 'stopgate.attempt': attempt ?? '' });
      if (isEvaluating()) for (const check of checks()) emitEvaluation(check, attributes(), span);
      if (span === undefined) return undefined;
      recordDecision(span, decision, clock());
      return span.spanContext().traceId;
    },
  };
}

type CheckSpan = { readonly about: Readonly<Record<string, string>>; readonly parent: Span };

async function inCheckSpan(
  check: string,
  { about, parent }: CheckSpan,
  call: () => Promise<CheckResult>,
): Promise<CheckResult> {
  const span = startSpan(`stopgate.check ${check}`, { kind: SpanKind.CLIENT, attributes: about }, parent);
  const result = await inSpan(span, call);
  span.setAttributes({ 'stopgate.check': check, 'stopgate.outcome': result.outcome });
  if (result.outcome === 'error' || result.outcome === 'timeout')
    span.setStatus({ code: SpanStatusCode.ERROR, message: result.reason ?? result.outcome });
  span.end();
  return result;
}

/** Follows OpenTelemetry's GenAI conventions. A worker counts as one conversation of an agent. */
const agentAttributes = (worker: string, agent: string | null) => ({
  'gen_ai.agent.id': worker,
  'gen_ai.conversation.id': worker,
  ...(agent === null ? {} : { 'gen_ai.agent.name': agent }),
});

/** In these conventions, input tokens include cached ones. */
function usageAttributes({ input = 0, output = 0, cacheRead = 0, cacheWrite = 0, usd = 0, model }: UsageReport) {
  return {
    'gen_ai.usage.input_tokens': input + cacheRead + cacheWrite,
    'gen_ai.usage.output_tokens': output,
    'gen_ai.usage.cache_read.input_tokens': cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': cacheWrite,
    'stopgate.usd': usd,
    ...(model === undefined ? {} : { 'gen_ai.request.model': model }),
  };
}

function take(spans: Map<string, Span>, key: string): Span | undefined {
  const found = spans.get(key);
  spans.delete(key);
  return found;
}

/** Guards run within one step of the fold, so their spans have an order but no duration. */
function recordDecision(span: Span, { decision, cause, action, seq, verdicts }: Decision, nowMs: number): void {
  const attributes = { 'stopgate.decision': decision, 'stopgate.cause': cause, 'stopgate.action': action };
  const decisionSpan = startSpan('stopgate.decision', { startTime: nowMs, attributes }, span);
  for (const { guard, verdict, detail } of verdicts) {
    const row = { 'stopgate.guard': guard, 'stopgate.verdict': verdict, 'stopgate.detail': detail };
    startSpan(`stopgate.guard ${guard}`, { startTime: nowMs, attributes: row }, decisionSpan).end(nowMs);
  }
  decisionSpan.end(nowMs);
  span.setAttributes({ ...attributes, ...(seq === null ? {} : { 'stopgate.seq': seq }) });
  span.end(nowMs);
}

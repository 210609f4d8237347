/**
 * The trace of each attempt, where somebody records traces: a span from its request, or from its entry, to its decision,
 * with one for each check and one for the decision with its guards. The replica that acts for the attempt records it.
 */
import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { attemptMessageId, type CheckResult, type Decision, type UsageReport } from '../../../machines/index.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import { inSpan, isTracing, startSpan, type TraceHeaders, traceHeaders } from '../../telemetry/tracing.ts';

export type AttemptTraces = {
  /**
   * An attempt goes to the log, perhaps not for the first time. `key`: where its callers wait for it.
   * @returns headers of its entry, so that whichever replica acts can go on with its trace
   */
  onSubmitted(worker: string, key: string): TraceHeaders;
  /** Nobody here waits for its decision any more. */
  onFailed(key: string, error: Error): void;
  /** Its entry was folded. `key`: the one of `onSubmitted`, if it was submitted here; `isOurs`: this replica acts for it. */
  onStored(message: LogMessage, worker: string, attempt: string, key: string, isOurs: boolean): void;
  /** Calls a check of it, in a span that the request to a remote check carries on. */
  callCheck(worker: string, attempt: string, check: string, call: () => Promise<CheckResult>): Promise<CheckResult>;
  /** An agent has reported what it used. */
  onUsed(worker: string, report: UsageReport): void;
  /** @returns the id of its trace; undefined: it is not recorded here */
  onDecided(decision: Decision): string | undefined;
};

type Options = {
  readonly fleet: string;
  readonly replica: string;
  readonly clock: () => number;
  /** The agent of a worker, such as `claude`; null: it is not known. */
  readonly agentOf: (worker: string) => string | null;
};

const attemptSpan = 'stopgate.attempt';

export function createAttemptTraces({ fleet, replica, clock, agentOf }: Options): AttemptTraces {
  /** By the key under which callers wait, and once the entry is folded by `attemptMessageId`. Each attempt ends, and its span with it. */
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
      if (parent === undefined) return call();
      const span = startSpan(`stopgate.check ${check}`, { kind: SpanKind.CLIENT, attributes: about(worker) }, parent);
      const result = await inSpan(span, call);
      span.setAttributes({ 'stopgate.check': check, 'stopgate.outcome': result.outcome });
      if (result.outcome === 'error' || result.outcome === 'timeout')
        span.setStatus({ code: SpanStatusCode.ERROR, message: result.reason ?? result.outcome });
      span.end();
      return result;
    },
    onUsed(worker, report) {
      if (!isTracing()) return;
      const nowMs = clock();
      const attributes = { ...about(worker), ...usageAttributes(report) };
      startSpan('stopgate.usage', { startTime: nowMs, attributes }, null).end(nowMs);
    },
    onDecided(decision) {
      const span = take(spans, attemptMessageId(decision.worker, decision.attempt ?? ''));
      if (span === undefined) return undefined;
      recordDecision(span, decision, clock());
      return span.spanContext().traceId;
    },
  };
}

/** By the GenAI conventions of OpenTelemetry: a worker is a session of an agent. */
const agentAttributes = (worker: string, agent: string | null) => ({
  'gen_ai.agent.id': worker,
  'gen_ai.conversation.id': worker,
  ...(agent === null ? {} : { 'gen_ai.agent.name': agent }),
});

/** Input, by these conventions, includes what came from the cache. */
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

/** The guards run in one step of the fold, so they have an order, but no duration of their own. */
function recordDecision(span: Span, { decision, cause, action, seq, verdicts }: Decision, nowMs: number): void {
  const attributes = { 'stopgate.decision': decision, 'stopgate.cause': cause, 'stopgate.action': action };
  const made = startSpan('stopgate.decision', { startTime: nowMs, attributes }, span);
  for (const { guard, verdict, detail } of verdicts) {
    const found = { 'stopgate.guard': guard, 'stopgate.verdict': verdict, 'stopgate.detail': detail };
    startSpan(`stopgate.guard ${guard}`, { startTime: nowMs, attributes: found }, made).end(nowMs);
  }
  made.end(nowMs);
  span.setAttributes({ ...attributes, ...(seq === null ? {} : { 'stopgate.seq': seq }) });
  span.end(nowMs);
}

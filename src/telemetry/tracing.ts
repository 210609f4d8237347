/**
 * Traces, with only the OpenTelemetry API: without an SDK in this process nothing is recorded, and the only cost is
 * checking for one. Traces are propagated in the W3C headers `traceparent` and `tracestate`.
 */
import { context, propagation, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';

/** Tells whether an SDK is installed: it registers a propagator. */
export const isTracing = (): boolean => propagation.fields().length > 0;

export type TraceHeaders = Readonly<Record<string, string>>;
type ReadHeader = (name: string) => string | undefined;

const names = ['traceparent', 'tracestate'];
const none: TraceHeaders = Object.freeze({});

/** The trace context that the headers name. */
const contextOf = (header: ReadHeader) =>
  propagation.extract(ROOT_CONTEXT, header, { keys: () => names, get: (read, name) => read(name) });

/** Runs `use`, and everything it starts, in the trace that the headers of a message name. */
export function inTraceOf<Result>(header: ReadHeader, use: () => Result): Result {
  return isTracing() ? context.with(contextOf(header), use) : use();
}

export const inSpan = <Result>(span: Span, use: () => Result): Result =>
  context.with(trace.setSpan(context.active(), span), use);

/** Headers for a message in the current trace, or in the trace of `span`. Empty without tracing. */
export function traceHeaders(span: Span | null = null): TraceHeaders {
  if (!isTracing()) return none;
  const headers: Record<string, string> = {};
  propagation.inject(span === null ? context.active() : trace.setSpan(ROOT_CONTEXT, span), headers);
  return headers;
}

/** Ids for a log line. Returns a new object, because the logger adds to it. */
export function traceIds(): { readonly traceId?: string; readonly spanId?: string } {
  const span = isTracing() ? trace.getActiveSpan()?.spanContext() : undefined;
  return span === undefined ? {} : { traceId: span.traceId, spanId: span.spanId };
}

type SpanOptions = NonNullable<Parameters<ReturnType<typeof trace.getTracer>['startSpan']>[1]>;

/** Starts a span below another span, below the one that headers name, or in the current trace. */
export function startSpan(name: string, options: SpanOptions, under: Span | ReadHeader | null = null): Span {
  const parent =
    under === null
      ? context.active()
      : typeof under === 'function'
        ? contextOf(under)
        : trace.setSpan(ROOT_CONTEXT, under);
  return trace.getTracer('stopgate').startSpan(name, options, parent);
}

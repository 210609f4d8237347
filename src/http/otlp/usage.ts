/** Reads usage from OTLP requests: one report for each request to a model, or each growth of a metric. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { UsageReport } from '../../../machines/index.ts';
import { type ReportedUsage, usageOfEvent, usageOfMetric, usageOfSpan } from '../../agents/telemetry.ts';
import { AppError } from '../../errors.ts';
import { setNewest } from '../../newest.ts';

/** `key`: the same for what is sent again. `items`: how many of the request's it is made of. */
export type FoundUsage = ReportedUsage & { readonly key: string; readonly items: number };

/** Sessions of which something is remembered; the oldest give way. */
const sessionsMax = 10_000;
/** Series of cumulative metrics, a dozen of each session. */
const seriesMax = 100_000;
const delta = 1;

/**
 * @param openedMs when it began to listen: what a cumulative metric had counted before belongs to nobody here
 * @returns reads one request. @throws AppError input.bad: it is no OTLP
 */
export function createUsageReader(openedMs: number): (signal: Signal, body: object) => FoundUsage[] {
  /** Workers whose events are read: their metrics say the same. */
  const withEvents = new Map<string, true>();
  const series = new Map<string, number>();

  const growthOf = (name: string, at: Attributes, point: Point, temporality: unknown): number => {
    const value = Number(point.asDouble ?? point.asInt ?? 0);
    if (!Number.isFinite(value) || value < 0) return 0;
    if (Number(temporality) === delta) return value;
    // A digest, for an exporter may name its attributes at any length.
    const key = createHash('sha256')
      .update(`${name} ${point.startTimeUnixNano ?? ''} ${JSON.stringify([...at])}`)
      .digest('base64url');
    const before = series.get(key);
    setNewest(series, key, value, seriesMax);
    if (before !== undefined) return Math.max(0, value - before);
    return Number(point.startTimeUnixNano ?? 0) / 1e6 >= openedMs ? value : 0;
  };

  const readPoint = (metric: Metric, point: Point): FoundUsage | null => {
    const at = attributesOf(point.attributes);
    if (usageOfMetric(metric.name, at, 1) === null) return null;
    const grown = growthOf(metric.name, at, point, metric.sum?.aggregationTemporality);
    const found = usageOfMetric(metric.name, at, grown);
    if (found === null || grown === 0 || withEvents.has(found.worker)) return null;
    return {
      ...found,
      items: 1,
      key: `${metric.name} ${JSON.stringify([...at])} ${point.startTimeUnixNano} ${point.timeUnixNano}`,
    };
  };

  return (signal, body) => {
    if (signal === 'logs') {
      const found = parse('logs', body)
        .resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
        .flatMap((record) => asList(readRecord(record)));
      for (const { worker } of found) setNewest(withEvents, worker, true, sessionsMax);
      return found;
    }
    if (signal === 'traces')
      return parse('traces', body).resourceSpans.flatMap(({ resource, scopeSpans }) => {
        const service = String(attributesOf(resource.attributes).get('service.name') ?? '');
        return scopeSpans.flatMap(({ spans }) =>
          spans.flatMap((span) => {
            const found = usageOfSpan(service, attributesOf(span.attributes));
            return found === null ? [] : [{ ...found, items: 1, key: `span ${span.traceId} ${span.spanId}` }];
          }),
        );
      });
    const points = parse('metrics', body).resourceMetrics.flatMap(({ scopeMetrics }) =>
      scopeMetrics.flatMap(({ metrics }) =>
        metrics.flatMap((metric) =>
          (metric.sum?.dataPoints ?? []).flatMap((point) => asList(readPoint(metric, point))),
        ),
      ),
    );
    return joined(points);
  };
}

function parse<S extends Signal>(signal: S, body: object): ReturnType<(typeof requestSchemas)[S]['parse']> {
  const read = requestSchemas[signal].safeParse(body);
  if (read.success) return read.data as ReturnType<(typeof requestSchemas)[S]['parse']>;
  const issue = read.error.issues[0];
  throw new AppError('input.bad', `the body is no OTLP ${signal}: ${issue?.path.join('.')} ${issue?.message}`);
}

const asList = <Item>(item: Item | null): Item[] => (item === null ? [] : [item]);

function readRecord(record: LogRecord): FoundUsage | null {
  const at = attributesOf(record.attributes);
  const body = record.body?.stringValue;
  const found = asList(body)
    .concat(String(at.get('event.name') ?? record.eventName ?? ''))
    .map((name) => usageOfEvent(name ?? '', at))
    .find((it) => it !== null);
  if (found === undefined || found === null) return null;
  const { timeUnixNano, observedTimeUnixNano } = record;
  return { ...found, items: 1, key: `log ${timeUnixNano} ${observedTimeUnixNano} ${JSON.stringify([...at])}` };
}

/** The points of one export are one report for each worker and model: their fields are different ones, or add up. */
function joined(points: readonly FoundUsage[]): FoundUsage[] {
  const all = new Map<string, FoundUsage>();
  for (const point of points) {
    const name = `${point.worker} ${point.report.model ?? ''}`;
    const known = all.get(name);
    all.set(name, known === undefined ? point : join(known, point));
  }
  return [...all.values()];
}

const join = (a: FoundUsage, b: FoundUsage): FoundUsage => ({
  ...a,
  report: addReports(a.report, b.report),
  key: `${a.key} ${b.key}`,
  items: a.items + b.items,
});

function addReports(a: UsageReport, b: UsageReport): UsageReport {
  const sum: Record<string, unknown> = { ...a };
  for (const [field, value] of Object.entries(b))
    sum[field] = typeof value === 'number' ? Number(sum[field] ?? 0) + value : value;
  return sum;
}

/*
 * OTLP as JSON has it (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), as far as usage is read from it.
 * Unknown fields are ignored, as the specification asks; what has another form is not usage, and is passed over.
 */

export const signals = ['logs', 'metrics', 'traces'] as const;
export type Signal = (typeof signals)[number];

/** 64-bit integers are texts in JSON; some exporters send numbers. */
const integer = z.union([z.number(), z.string()]);
const value = z.object({
  stringValue: z.string().optional(),
  intValue: integer.optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
});
const attributes = z.array(z.object({ key: z.string(), value: value.nullish() })).default([]);
const resource = z.object({ attributes }).default({ attributes: [] });

const logRecord = z.object({
  timeUnixNano: integer.optional(),
  observedTimeUnixNano: integer.optional(),
  eventName: z.string().optional(),
  body: value.nullish(),
  attributes,
});
const point = z.object({
  startTimeUnixNano: integer.optional(),
  timeUnixNano: integer.optional(),
  asDouble: z.number().optional(),
  asInt: integer.optional(),
  attributes,
});
const metric = z.object({
  name: z.string().default(''),
  sum: z.object({ dataPoints: z.array(point).default([]), aggregationTemporality: integer.optional() }).optional(),
});
const span = z.object({
  spanId: z.string().optional(),
  traceId: z.string().optional(),
  name: z.string().optional(),
  attributes,
});

const requestSchemas = {
  logs: z.object({
    resourceLogs: z
      .array(
        z.object({
          resource,
          scopeLogs: z.array(z.object({ logRecords: z.array(logRecord).default([]) })).default([]),
        }),
      )
      .default([]),
  }),
  metrics: z.object({
    resourceMetrics: z
      .array(
        z.object({ resource, scopeMetrics: z.array(z.object({ metrics: z.array(metric).default([]) })).default([]) }),
      )
      .default([]),
  }),
  traces: z.object({
    resourceSpans: z
      .array(z.object({ resource, scopeSpans: z.array(z.object({ spans: z.array(span).default([]) })).default([]) }))
      .default([]),
  }),
};

type LogRecord = z.infer<typeof logRecord>;
type Metric = z.infer<typeof metric>;
type Point = z.infer<typeof point>;

/** Attributes as plain values; numbers that came as texts stay texts. */
type Attributes = ReadonlyMap<string, string | number | boolean>;

function attributesOf(given: z.infer<typeof attributes>): Attributes {
  const read = new Map<string, string | number | boolean>();
  for (const { key, value: it } of given) {
    const found = it?.stringValue ?? it?.intValue ?? it?.doubleValue ?? it?.boolValue;
    if (found !== undefined) read.set(key, found);
  }
  return read;
}

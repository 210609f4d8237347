/** Reads usage from OTLP requests: one report for each request to a model, or each growth of a metric. */
import { createHash } from 'node:crypto';
import type { UsageReport } from '../../../machines/index.ts';
import { type ReportedUsage, usageOfEvent, usageOfMetric, usageOfSpan } from '../../agents/telemetry.ts';
import { setNewest } from '../../newest.ts';
import { type Attributes, createFieldReader, type FieldReader, type Fields, type NoteUnread } from './fields.ts';

export const signals = ['logs', 'metrics', 'traces'] as const;
export type Signal = (typeof signals)[number];

/**
 * `key`: the same for what is sent again. `items`: how many of the request's it is made of. `stored`: to be called once it is
 * stored, or was before. Until then what it counts is not counted, and comes again with the next report.
 */
export type FoundUsage = ReportedUsage & {
  readonly key: string;
  readonly items: number;
  readonly stored: () => void;
};

/** Series of cumulative metrics, a dozen of each session. */
const seriesMax = 100_000;
const delta = 1;

const noStep = (): void => {};

/** The last point of a series that was stored. `timeNs`: since the epoch; 0: it has none. */
type SeriesPoint = { readonly value: number; readonly timeNs: bigint };

const timeOf = (given: string | undefined): bigint => (/^\d{1,20}$/.test(given ?? '') ? BigInt(given as string) : 0n);

/**
 * OTLP as JSON has it (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), as far as usage is read from it.
 * Unknown fields are ignored, as the specification asks. A field of another form is noted, and the rest is read.
 * @param openedMs when it began to listen: what a cumulative metric had counted before belongs to nobody here
 */
export function createUsageReader(
  openedMs: number,
  note: NoteUnread = noStep,
): (signal: Signal, body: object) => FoundUsage[] {
  const read = createFieldReader(note);
  const series = new Map<string, SeriesPoint>();

  /** By how much it has grown since what was stored of it; `stored` counts it. */
  const growthOf = (name: string, exporter: string, at: Attributes, point: Fields, temporality: number | undefined) => {
    const value = read.number(point, 'asDouble') ?? read.number(point, 'asInt') ?? 0;
    if (!Number.isFinite(value) || value < 0) return { grown: 0, stored: noStep };
    if (temporality === delta) return { grown: value, stored: noStep };
    const start = read.name(point, 'startTimeUnixNano') ?? '';
    const timeNs = timeOf(read.name(point, 'timeUnixNano'));
    // A digest, for an exporter may name its attributes at any length.
    const key = createHash('sha256')
      .update(`${name} ${start} ${exporter} ${JSON.stringify([...at])}`)
      .digest('base64url');
    const before = series.get(key);
    const stored = () => {
      const known = series.get(key);
      const isOlder =
        known !== undefined && (known.timeNs > timeNs || (known.timeNs === timeNs && known.value > value));
      if (!isOlder) setNewest(series, key, { value, timeNs }, seriesMax);
    };
    if (before !== undefined) {
      // A point that came late is in what was counted. A later one with less began anew.
      if (timeNs < before.timeNs) return { grown: 0, stored: noStep };
      const hasRestarted = value < before.value && timeNs > before.timeNs;
      return { grown: hasRestarted ? value : Math.max(0, value - before.value), stored };
    }
    const isOurs = Number(start || 0) / 1e6 >= openedMs;
    // What was counted before is nobody's, so there is nothing to store of it.
    if (!isOurs) stored();
    return { grown: isOurs ? value : 0, stored };
  };

  const readPoint = (
    name: string,
    exporter: string,
    point: Fields,
    temporality: number | undefined,
  ): FoundUsage | null => {
    const at = read.attributes(point);
    if (usageOfMetric(name, at, 1) === null) return null;
    const { grown, stored } = growthOf(name, exporter, at, point, temporality);
    const found = grown === 0 ? null : usageOfMetric(name, at, grown);
    if (found === null) return null;
    const times = `${read.name(point, 'startTimeUnixNano')} ${read.name(point, 'timeUnixNano')}`;
    return { ...found, items: 1, key: `${name} ${exporter} ${JSON.stringify([...at])} ${times}`, stored };
  };

  /** `exporter`: the attributes of its resource, by which two processes of one session are two series. */
  const readMetric = (metric: Fields, exporter: string): FoundUsage[] => {
    const name = read.text(metric, 'name') ?? '';
    const sum = read.object(metric, 'sum');
    const temporality = temporalityOf(read.name(sum, 'aggregationTemporality'));
    return read.objects(sum, 'dataPoints').flatMap((point) => asList(readPoint(name, exporter, point, temporality)));
  };

  return (signal, body) => {
    const given = body as Fields;
    if (signal === 'logs')
      return within(read, given, ['resourceLogs', 'scopeLogs', 'logRecords']).flatMap((record) =>
        asList(readRecord(read, record)),
      );
    if (signal === 'traces')
      return read.objects(given, 'resourceSpans').flatMap((resourceSpans) => {
        const resource = read.attributes(read.object(resourceSpans, 'resource'));
        const service = String(resource.get('service.name') ?? '');
        return within(read, resourceSpans, ['scopeSpans', 'spans']).flatMap((span) =>
          asList(readSpan(read, service, span)),
        );
      });
    return joined(
      read.objects(given, 'resourceMetrics').flatMap((resourceMetrics) => {
        const exporter = JSON.stringify([...read.attributes(read.object(resourceMetrics, 'resource'))]);
        return within(read, resourceMetrics, ['scopeMetrics', 'metrics']).flatMap((it) => readMetric(it, exporter));
      }),
    );
  };
}

/** The items of nested lists. */
const within = (read: FieldReader, parent: Fields, keys: readonly string[]): readonly Fields[] =>
  keys.reduce<readonly Fields[]>((parents, key) => parents.flatMap((it) => read.objects(it, key)), [parent]);

/** Enumerations are numbers, and names in ProtoJSON. */
const temporalityOf = (given: string | undefined): number | undefined =>
  given === 'AGGREGATION_TEMPORALITY_DELTA' ? delta : given === undefined ? undefined : Number(given);

const asList = <Item>(item: Item | null): Item[] => (item === null ? [] : [item]);

function readSpan(read: FieldReader, service: string, span: Fields): FoundUsage | null {
  const found = usageOfSpan(service, read.attributes(span));
  if (found === null) return null;
  const key = `span ${read.text(span, 'traceId')} ${read.text(span, 'spanId')}`;
  return { ...found, items: 1, key, stored: noStep };
}

function readRecord(read: FieldReader, record: Fields): FoundUsage | null {
  const at = read.attributes(record);
  const { body } = record;
  // A body of another form than a text is that of another event.
  const title = typeof body === 'object' && body !== null ? (body as Fields).stringValue : undefined;
  const names = [title, at.get('event.name') ?? read.text(record, 'eventName')];
  const found = names
    .map((name) => (typeof name === 'string' ? usageOfEvent(name, at) : null))
    .find((it) => it !== null);
  if (found === undefined || found === null) return null;
  const times = `${read.name(record, 'timeUnixNano')} ${read.name(record, 'observedTimeUnixNano')}`;
  return { ...found, items: 1, key: `log ${times} ${JSON.stringify([...at])}`, stored: noStep };
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
  stored() {
    a.stored();
    b.stored();
  },
});

function addReports(a: UsageReport, b: UsageReport): UsageReport {
  const sum: Record<string, unknown> = { ...a };
  for (const [field, value] of Object.entries(b))
    sum[field] = typeof value === 'number' ? Number(sum[field] ?? 0) + value : value;
  return sum;
}

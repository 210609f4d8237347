/** Reads usage from OTLP requests: one report per request to a model, or per increase of a metric. */
import { createHash } from 'node:crypto';
import type { UsageReport } from '../../../machines/index.ts';
import { type ReportedUsage, usageOfEvent, usageOfMetric, usageOfSpan } from '../../agents/telemetry.ts';
import { setNewest } from '../../set-newest.ts';
import { type Attributes, createFieldReader, type FieldReader, type Fields, type NoteUnreadField } from './fields.ts';

export const signals = ['logs', 'metrics', 'traces'] as const;
export type Signal = (typeof signals)[number];

/**
 * `key` is equal for repeated data. `items` is the number of OTLP items that it was read from. Call `markStored` once
 * the usage is stored; until then, the next report of a cumulative metric includes it again.
 */
export type FoundUsage = ReportedUsage & {
  readonly key: string;
  readonly items: number;
  readonly markStored: () => void;
};

/** Maximum number of series of cumulative metrics. A session has about a dozen. */
const seriesMax = 100_000;
const delta = 1;

const noStep = (): void => {};

/** The last stored point of a series. `timeNs` is in nanoseconds since 1970, or 0 if the point has no time. */
type SeriesPoint = { readonly value: number; readonly timeNs: bigint };

const timeOf = (given: string | undefined): bigint => (/^\d{1,20}$/.test(given ?? '') ? BigInt(given as string) : 0n);

/**
 * Returns a function that reads usage from OTLP in JSON form
 * (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). Ignores unknown fields, as the specification
 * requires. Notes unreadable fields and reads the rest.
 * @param openedMs when the receiver started; what a cumulative metric counted before that is ignored
 */
export function createUsageReader(
  openedMs: number,
  note: NoteUnreadField = noStep,
): (signal: Signal, body: object) => FoundUsage[] {
  const read = createFieldReader(note);
  const series = new Map<string, SeriesPoint>();

  /** Returns how much a series has grown since its last stored point, and a function that stores the new point. */
  const growthOf = (
    name: string,
    exporter: string,
    attributes: Attributes,
    point: Fields,
    temporality: number | undefined,
  ) => {
    const value = read.number(point, 'asDouble') ?? read.number(point, 'asInt') ?? 0;
    if (!Number.isFinite(value) || value < 0) return { grown: 0, markStored: noStep };
    if (temporality === delta) return { grown: value, markStored: noStep };
    const start = read.name(point, 'startTimeUnixNano') ?? '';
    const timeNs = timeOf(read.name(point, 'timeUnixNano'));
    // A digest, because attributes may have any length.
    const key = createHash('sha256')
      .update(`${name} ${start} ${exporter} ${JSON.stringify([...attributes])}`)
      .digest('base64url');
    const before = series.get(key);
    const markStored = () => {
      const known = series.get(key);
      const isOlder =
        known !== undefined && (known.timeNs > timeNs || (known.timeNs === timeNs && known.value > value));
      if (!isOlder) setNewest(series, key, { value, timeNs }, seriesMax);
    };
    if (before !== undefined) {
      // A late point is already counted. A later point with a smaller value means that the counter was restarted.
      if (timeNs < before.timeNs) return { grown: 0, markStored: noStep };
      const hasRestarted = value < before.value && timeNs > before.timeNs;
      return { grown: hasRestarted ? value : Math.max(0, value - before.value), markStored };
    }
    const isOurs = Number(start || 0) / 1e6 >= openedMs;
    // A series from before our start only sets the baseline.
    if (!isOurs) markStored();
    return { grown: isOurs ? value : 0, markStored };
  };

  const readPoint = (
    name: string,
    exporter: string,
    point: Fields,
    temporality: number | undefined,
  ): FoundUsage | null => {
    const attributes = read.attributes(point);
    if (usageOfMetric(name, attributes, 1) === null) return null;
    const { grown, markStored } = growthOf(name, exporter, attributes, point, temporality);
    const found = grown === 0 ? null : usageOfMetric(name, attributes, grown);
    if (found === null) return null;
    const times = `${read.name(point, 'startTimeUnixNano')} ${read.name(point, 'timeUnixNano')}`;
    return { ...found, items: 1, key: `${name} ${exporter} ${JSON.stringify([...attributes])} ${times}`, markStored };
  };

  /** `exporter` is the resource's attributes, which tell two processes of one session apart. */
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
    return combineByModel(
      read.objects(given, 'resourceMetrics').flatMap((resourceMetrics) => {
        const exporter = JSON.stringify([...read.attributes(read.object(resourceMetrics, 'resource'))]);
        return within(read, resourceMetrics, ['scopeMetrics', 'metrics']).flatMap((metric) =>
          readMetric(metric, exporter),
        );
      }),
    );
  };
}

/** Returns the items of nested lists. */
const within = (read: FieldReader, parent: Fields, keys: readonly string[]): readonly Fields[] =>
  keys.reduce<readonly Fields[]>((parents, key) => parents.flatMap((each) => read.objects(each, key)), [parent]);

/** In ProtoJSON an enumeration is a number or a name. */
const temporalityOf = (given: string | undefined): number | undefined =>
  given === 'AGGREGATION_TEMPORALITY_DELTA' ? delta : given === undefined ? undefined : Number(given);

const asList = <Item>(item: Item | null): Item[] => (item === null ? [] : [item]);

function readSpan(read: FieldReader, service: string, span: Fields): FoundUsage | null {
  const found = usageOfSpan(service, read.attributes(span));
  if (found === null) return null;
  const key = `span ${read.text(span, 'traceId')} ${read.text(span, 'spanId')}`;
  return { ...found, items: 1, key, markStored: noStep };
}

function readRecord(read: FieldReader, record: Fields): FoundUsage | null {
  const attributes = read.attributes(record);
  const { body } = record;
  // A body that is not a text belongs to another kind of event.
  const title = typeof body === 'object' && body !== null ? (body as Fields).stringValue : undefined;
  const names = [title, attributes.get('event.name') ?? read.text(record, 'eventName')];
  const found = names
    .map((name) => (typeof name === 'string' ? usageOfEvent(name, attributes) : null))
    .find((usage) => usage !== null);
  if (found === undefined || found === null) return null;
  const times = `${read.name(record, 'timeUnixNano')} ${read.name(record, 'observedTimeUnixNano')}`;
  return { ...found, items: 1, key: `log ${times} ${JSON.stringify([...attributes])}`, markStored: noStep };
}

/** Combines the points of one export into one report per worker and model, adding up equal fields. */
function combineByModel(points: readonly FoundUsage[]): FoundUsage[] {
  const all = new Map<string, FoundUsage>();
  for (const point of points) {
    const name = `${point.worker} ${point.report.model ?? ''}`;
    const known = all.get(name);
    all.set(name, known === undefined ? point : combine(known, point));
  }
  return [...all.values()];
}

const combine = (a: FoundUsage, b: FoundUsage): FoundUsage => ({
  ...a,
  report: addReports(a.report, b.report),
  key: `${a.key} ${b.key}`,
  items: a.items + b.items,
  markStored() {
    a.markStored();
    b.markStored();
  },
});

function addReports(a: UsageReport, b: UsageReport): UsageReport {
  const sum: Record<string, unknown> = { ...a };
  for (const [field, value] of Object.entries(b))
    sum[field] = typeof value === 'number' ? Number(sum[field] ?? 0) + value : value;
  return sum;
}

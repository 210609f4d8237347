/** An OpenTelemetry collector on loopback that records traces, metrics and events sent by OTLP over HTTP. */
import { openLoopbackServer } from './loopback-server.ts';

export type Span = {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2 means error. */
  readonly status: number;
  /** Service name of the sending process. */
  readonly service: string;
};
export type Point = {
  readonly kind: 'sum' | 'gauge' | 'histogram';
  readonly description: string;
  readonly labels: Readonly<Record<string, unknown>>;
  /** Number of values in a histogram. */
  readonly value: number;
  readonly service: string;
};
/** A log record with a name. */
export type CollectedEvent = {
  readonly name: string;
  /** '' if it belongs to no trace. */
  readonly traceId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
};
export type Collector = {
  readonly url: string;
  readonly spans: Span[];
  readonly events: CollectedEvent[];
  /** The latest values by metric name. */
  readonly metrics: Map<string, readonly Point[]>;
  /** Refuses everything until this is called. */
  accept(): void;
  close(): Promise<void>;
};

type Attribute = { key: string; value: Record<string, unknown> };
type ExportedTraces = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: (Pick<Span, 'name' | 'traceId' | 'spanId' | 'parentSpanId'> & {
        attributes: Attribute[];
        status: { code?: number };
      })[];
    }[];
  }[];
};

type DataPoint = { attributes: Attribute[]; asDouble?: number; asInt?: number; count?: number };
type ExportedMetrics = {
  resourceMetrics: {
    resource: { attributes: Attribute[] };
    scopeMetrics: {
      metrics: ({ name: string; description: string } & Partial<Record<Point['kind'], { dataPoints: DataPoint[] }>>)[];
    }[];
  }[];
};

type ExportedLogs = {
  resourceLogs: {
    scopeLogs: { logRecords: { eventName: string; traceId?: string; attributes: Attribute[] }[] }[];
  }[];
};

const valuesOf = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

export async function openCollector({ refuses = false } = {}): Promise<Collector> {
  let isRefusing = refuses;
  const spans: Span[] = [];
  const events: CollectedEvent[] = [];
  const metrics = new Map<string, readonly Point[]>();
  const { origin, close } = await openLoopbackServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = () => JSON.parse(Buffer.concat(chunks).toString('utf8'));
    if (isRefusing) return void response.writeHead(400).end();
    const [path] = request.url?.split('?') ?? [];
    if (path === '/v1/traces') spans.push(...spansOf(body()));
    else if (path === '/v1/logs') events.push(...eventsOf(body()));
    else if (path === '/v1/metrics') for (const [name, points] of pointsOf(body())) metrics.set(name, points);
    else return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  const accept = () => {
    isRefusing = false;
  };
  return { url: origin, spans, events, metrics, accept, close };
}

const serviceOf = ({ attributes }: { attributes: readonly Attribute[] }) =>
  String(valuesOf(attributes)['service.name']);

const spansOf = ({ resourceSpans }: ExportedTraces): Span[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap((scope) => scope.spans)
      .map(({ name, traceId, spanId, parentSpanId, status, attributes }) => ({
        name,
        traceId,
        spanId,
        parentSpanId,
        attributes: valuesOf(attributes),
        status: status.code ?? 0,
        service: serviceOf(resource),
      })),
  );

const eventsOf = ({ resourceLogs }: ExportedLogs): CollectedEvent[] =>
  resourceLogs
    .flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
    .map(({ eventName, traceId = '', attributes }) => ({ name: eventName, traceId, attributes: valuesOf(attributes) }));

const pointsOf = ({ resourceMetrics }: ExportedMetrics): [name: string, Point[]][] =>
  resourceMetrics.flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics
      .flatMap((scope) => scope.metrics)
      .map(({ name, description, ...data }) => {
        const kind = (['sum', 'gauge', 'histogram'] as const).find((it) => data[it] !== undefined) ?? 'gauge';
        const points = (data[kind]?.dataPoints ?? []).map(({ attributes, asDouble, asInt, count }) => ({
          kind,
          description,
          labels: valuesOf(attributes),
          service: serviceOf(resource),
          value: Number(count ?? asDouble ?? asInt),
        }));
        return [name, points];
      }),
  );

/** An OpenTelemetry collector on loopback: takes traces by OTLP over HTTP, and keeps them. */
import { openLoopbackServer } from './loopback-server.ts';

export type Span = {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2: an error. */
  readonly status: number;
  /** Of the process that sent it. */
  readonly service: string;
};
export type Collector = { readonly url: string; readonly spans: Span[]; close(): Promise<void> };

type Attribute = { key: string; value: Record<string, unknown> };
type Exported = {
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

const valuesOf = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

export async function openCollector(): Promise<Collector> {
  const spans: Span[] = [];
  const { origin, close } = await openLoopbackServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url !== '/v1/traces') return void response.writeHead(404).end();
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Exported;
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = String(valuesOf(resource.attributes)['service.name']);
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        const { name, traceId, spanId, parentSpanId, status } = span;
        const attributes = valuesOf(span.attributes);
        spans.push({ name, traceId, spanId, parentSpanId, attributes, status: status.code ?? 0, service });
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  return { url: origin, spans, close };
}

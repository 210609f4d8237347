/**
 * OTLP as JSON has it (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), as far as usage is read from it.
 * Unknown fields are ignored, as the specification asks; what has another form is not usage, and is passed over.
 */
import { z } from 'zod';

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

export const requestSchemas = {
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

export type LogRecord = z.infer<typeof logRecord>;
export type Metric = z.infer<typeof metric>;
export type Point = z.infer<typeof point>;

/** Attributes as plain values; numbers that came as texts stay texts. */
export type Attributes = ReadonlyMap<string, string | number | boolean>;

export function attributesOf(given: z.infer<typeof attributes>): Attributes {
  const read = new Map<string, string | number | boolean>();
  for (const { key, value: it } of given) {
    const found = it?.stringValue ?? it?.intValue ?? it?.doubleValue ?? it?.boolValue;
    if (found !== undefined) read.set(key, found);
  }
  return read;
}

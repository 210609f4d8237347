/**
 * Decodes OTLP requests in protobuf to the JSON form of OTLP, so that the rest handles one form only. Follows version 1
 * of the OpenTelemetry protocol (opentelemetry/proto). Skips all fields that are not needed to read usage.
 */
import { PbfReader, PbfWriter } from 'pbf';
import { AppError } from '../../errors.ts';
import type { Signal } from './usage.ts';

type Target = Record<string, unknown>;
type Read = (tag: number, target: Target, pbf: PbfReader) => void;
type Field = readonly [name: string, read: (pbf: PbfReader) => unknown, isList?: true];

/** Same limit as for values of JSON bodies: a field of two bytes becomes a whole object. */
const fieldsMax = 250_000;

class CountedReader extends PbfReader {
  left = fieldsMax;
}

function countField(pbf: CountedReader): void {
  pbf.left -= 1;
  if (pbf.left < 0) throw new AppError('input.bad', `the body has more than ${fieldsMax} fields`);
}

/** Defines a message by its field numbers. */
const message =
  (fields: Readonly<Record<number, Field>>): Read =>
  (tag, target, pbf) => {
    const field = fields[tag];
    if (field === undefined) return;
    const [name, read, isList] = field;
    countField(pbf as CountedReader);
    const value = read(pbf);
    if (isList !== true) {
      target[name] = value;
      return;
    }
    const list = target[name] as unknown[] | undefined;
    if (list === undefined) target[name] = [value];
    else list.push(value);
  };
const text = (pbf: PbfReader) => pbf.readString();
const double = (pbf: PbfReader) => pbf.readDouble();
const integer = (pbf: PbfReader) => pbf.readVarint(true);
const flag = (pbf: PbfReader) => pbf.readBoolean();
const time = (pbf: PbfReader) => String(pbf.readFixed64());
const within = (read: Read) => (pbf: PbfReader) => pbf.readMessage(read, {} as Target);
const hex = (pbf: PbfReader) => Buffer.from(pbf.readBytes()).toString('hex');

// Lists and maps as values are skipped: they contain no usage, and this way nothing nests.
const anyValue = message({
  1: ['stringValue', text],
  2: ['boolValue', flag],
  3: ['intValue', integer],
  4: ['doubleValue', double],
});
const attributes: Field = ['attributes', within(message({ 1: ['key', text], 2: ['value', within(anyValue)] })), true];
const resource: Field = ['resource', within(message({ 1: attributes }))];

const logRecord = message({
  1: ['timeUnixNano', time],
  5: ['body', within(anyValue)],
  6: attributes,
  11: ['observedTimeUnixNano', time],
  12: ['eventName', text],
});
const scopeLogs = message({ 2: ['logRecords', within(logRecord), true] });

const point = message({
  2: ['startTimeUnixNano', time],
  3: ['timeUnixNano', time],
  4: ['asDouble', double],
  6: ['asInt', (pbf) => pbf.readSFixed64()],
  7: attributes,
});
const sum = message({ 1: ['dataPoints', within(point), true], 2: ['aggregationTemporality', integer] });
const metric = message({ 1: ['name', text], 7: ['sum', within(sum)] });
const scopeMetrics = message({ 2: ['metrics', within(metric), true] });

const span = message({
  1: ['traceId', hex],
  2: ['spanId', hex],
  5: ['name', text],
  7: ['startTimeUnixNano', time],
  9: attributes,
});
const scopeSpans = message({ 2: ['spans', within(span), true] });

const requests: Readonly<Record<Signal, Read>> = {
  logs: message({
    1: ['resourceLogs', within(message({ 1: resource, 2: ['scopeLogs', within(scopeLogs), true] })), true],
  }),
  metrics: message({
    1: ['resourceMetrics', within(message({ 1: resource, 2: ['scopeMetrics', within(scopeMetrics), true] })), true],
  }),
  traces: message({
    1: ['resourceSpans', within(message({ 1: resource, 2: ['scopeSpans', within(scopeSpans), true] })), true],
  }),
};

/** @throws AppError input.bad if it is not a valid message */
export function decodeOtlp(signal: Signal, body: Uint8Array): object {
  try {
    return new CountedReader(body).readFields(requests[signal], {});
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('input.bad', `the body is not OTLP ${signal} in protobuf`, { cause });
  }
}

/** Encodes the response of any signal. It has a partial success only if something was rejected. */
export function encodeResponse(rejected: number, errorMessage: string): Uint8Array {
  const pbf = new PbfWriter();
  if (rejected > 0)
    pbf.writeMessage(
      1,
      (_value: null, inner: PbfWriter) => {
        inner.writeVarintField(1, rejected);
        inner.writeStringField(2, errorMessage);
      },
      null,
    );
  return pbf.finish();
}

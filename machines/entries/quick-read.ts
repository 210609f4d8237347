/**
 * Reads plain entries of the most frequent types without their schema. The schema would accept whatever is read here,
 * with the same fields. Everything else is left to the schema, which says what is wrong with it
 * (test/unit/machines/entries/quick-read.test.ts compares them).
 */
import { durationMsMax } from '../values/duration.ts';
import { isId, isStepId } from '../values/id.ts';
import { nameLengthMax, titleLengthMax } from '../values/limits.ts';
import { isLonger } from '../values/text.ts';
import { filesFault } from './fields.ts';

/** Fields as JSON has them, so none is there and undefined. */
type Given = Readonly<Record<string, unknown>>;

/** @returns the data of a worker's entry; null: its schema must validate it */
export function quickRead(type: string, fields: unknown): object | null {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return null;
  const given = fields as Given;
  switch (type) {
    case 'heartbeat.sent':
      return noData;
    case 'tool.used':
      return readTool(given);
    case 'tool.started':
      return readStart(given);
    case 'step.updated':
      return readStep(given);
    case 'stop.attempted':
      return readAttempt(given);
    default:
      return null;
  }
}

const noData = Object.freeze({});

function readTool({ tool, ok, files, call }: Given): object | null {
  if (typeof tool !== 'string' || tool === '' || !isText(call)) return null;
  if (ok !== undefined && typeof ok !== 'boolean') return null;
  if (files !== undefined && filesFault(files) !== null) return null;
  return withoutUndefined({ tool, ok, files, call });
}

function readStart({ tool, call }: Given): object | null {
  if (typeof tool !== 'string' || tool === '' || isLonger(tool, nameLengthMax)) return null;
  if (!isText(call) || (call !== undefined && isLonger(call, nameLengthMax))) return null;
  return withoutUndefined({ tool, call });
}

function readStep({ step, title, status }: Given): object | null {
  if (typeof step !== 'string' || !isStepId(step) || !isText(title) || !isText(status)) return null;
  if (title !== undefined && isLonger(title, titleLengthMax)) return null;
  return withoutUndefined({ step, title, status });
}

function readAttempt(given: Given): object | null {
  const { attempt, stopReason, output, toolCount, files, validation, promises, draft, holdMs } = given;
  if (validation !== undefined || promises !== undefined || draft !== undefined) return null;
  if (!isText(attempt) || !isText(stopReason) || !isText(output)) return null;
  if (attempt !== undefined && !isId(attempt)) return null;
  if (!isCount(toolCount) || !isCount(holdMs, durationMsMax)) return null;
  if (files !== undefined && filesFault(files) !== null) return null;
  return withoutUndefined({ attempt, stopReason, output, toolCount, files, holdMs });
}

const isText = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string';
const isCount = (value: unknown, max = Number.MAX_SAFE_INTEGER): boolean =>
  value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max);

/** In the schema's order. */
function withoutUndefined(fields: Given): object {
  const data: Record<string, unknown> = {};
  for (const key in fields) if (fields[key] !== undefined) data[key] = fields[key];
  return data;
}

/**
 * Fast path: reads plain entries of the most frequent types without their schema. It accepts only input that the schema
 * would accept with the same result, and leaves the rest, including all error messages, to the schema
 * (test/unit/machines/entries/quick-read.test.ts compares the two).
 */
import { isStepId } from '../values/id.ts';
import { nameLengthMax, titleLengthMax } from '../values/limits.ts';
import { filesFault } from '../values/schemas.ts';
import { isLonger } from '../values/text.ts';
import { attemptFields } from './worker.ts';

/** Unvalidated fields from JSON, so no field is present with the value undefined. */
type RawFields = Readonly<Record<string, unknown>>;

/** @returns the data of a worker's entry, or null if its schema must validate it */
export function quickRead(type: string, fields: unknown): object | null {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return null;
  const given = fields as RawFields;
  switch (type) {
    case 'heartbeat.sent':
      return given.mode === undefined ? noData : null;
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

function readTool({ tool, ok, files, call, changes, command }: RawFields): object | null {
  if (typeof tool !== 'string' || tool === '' || !isText(call) || !isText(changes) || !isText(command)) return null;
  if (ok !== undefined && typeof ok !== 'boolean') return null;
  if (files !== undefined && filesFault(files) !== null) return null;
  return withoutUndefined({ tool, ok, files, call, changes, command });
}

function readStart({ tool, call }: RawFields): object | null {
  if (typeof tool !== 'string' || tool === '' || isLonger(tool, nameLengthMax)) return null;
  if (!isText(call) || (call !== undefined && isLonger(call, nameLengthMax))) return null;
  return withoutUndefined({ tool, call });
}

function readStep({ step, title, status }: RawFields): object | null {
  if (typeof step !== 'string' || !isStepId(step) || !isText(title) || !isText(status)) return null;
  if (title !== undefined && isLonger(title, titleLengthMax)) return null;
  return withoutUndefined({ step, title, status });
}

function readAttempt(given: RawFields): object | null {
  const data: Record<string, unknown> = {};
  for (const name in attemptFields) {
    const value = given[name];
    if (value === undefined) continue;
    const { isPlain } = attemptFields[name as keyof typeof attemptFields];
    if (isPlain === null || !isPlain(value)) return null;
    data[name] = value;
  }
  return data;
}

const isText = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string';

/** Copies the defined fields, in the order of the schema. */
function withoutUndefined(fields: RawFields): object {
  const data: Record<string, unknown> = {};
  for (const key in fields) if (fields[key] !== undefined) data[key] = fields[key];
  return data;
}

/** Reads entries from messages. A message that is not a valid entry is refused with a code and a reason. */
import type { z } from 'zod';
import { planStepsMax } from '../policy/plan.ts';
import { policySizeFault } from '../policy/policy-set.ts';
import { idFault, isStepId } from '../values/id.ts';
import {
  afterMax,
  hookMembersMax,
  jsonDepthMax,
  labelsMax,
  nameLengthMax,
  payloadBytesMax,
  rulesMax,
  titleLengthMax,
} from '../values/limits.ts';
import { filesFault } from '../values/schemas.ts';
import { isLonger } from '../values/text.ts';
import { type Entry, entrySchemas } from './index.ts';
import { isTooDeep, readJson, tooDeepMessage } from './json.ts';
import { describeIssues, type Issue, type Refusal, toIssues } from './refusal.ts';
import { type Address, entityOf, readSubject } from './subject.ts';
import { attemptFields } from './worker.ts';

// Fast path: reads plain entries of the most frequent types without their schema. It accepts only input that the schema
// would accept with the same result, and leaves the rest, including all error messages, to the schema
// (test/unit/machines/entries/quick-read.test.ts compares the two).

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

// Oversized entries are refused before their schema runs. The schema would read them completely and could list a
// thousand issues.

/** The maximum size of lists and maps, by field name. */
const lengthsMax = Object.entries({
  after: afterMax,
  completionPromises: 16,
  labels: labelsMax,
  plan: planStepsMax,
  promises: rulesMax,
  rules: rulesMax,
  steps: planStepsMax,
  validation: rulesMax,
});

/** Returns the first oversized field, or null. */
function sizeFault(
  type: string,
  schema: z.ZodType,
  fields: object,
): { readonly path: string; readonly message: string } | null {
  const { shape = {} } = schema as { readonly shape?: object };
  for (const [path, most] of lengthsMax) {
    const value: unknown = Object.hasOwn(shape, path) ? (fields as Record<string, unknown>)[path] : undefined;
    if (typeof value !== 'object' || value === null) continue;
    const length = Array.isArray(value) ? value.length : Object.keys(value).length;
    if (length > most) return { path, message: `has ${length} items; the limit is ${most}` };
  }
  if (type === 'policy.set') return policySizeFault(fields);
  if (type !== 'hook.registered' || membersOf(fields) <= hookMembersMax) return null;
  return { path: 'of', message: `has more than ${hookMembersMax} members` };
}

/** Counts the members of a not yet validated hook at every depth. */
function membersOf(fields: object): number {
  const { of } = fields as { of?: unknown };
  if (!Array.isArray(of)) return 0;
  let sum = of.length;
  for (const member of of) if (typeof member === 'object' && member !== null) sum += membersOf(member);
  return sum;
}

/**
 * Reads one entry. `text` is the payload ('' means `{}`), `bytes` its size on the wire.
 * @param readAddress callers that read many entries pass a `createSubjectReader()`
 * @returns null for a `decision` or `dead` subject, which carries no entry
 */
export function readEntry(
  subject: string,
  text: string,
  bytes: number,
  readAddress = readSubject,
): Entry | Refusal | null {
  const address = readAddress(subject);
  if (address === null || 'code' in address) return address;
  if (bytes > payloadBytesMax) return refuse(address, 'TOO_LARGE', tooLargeMessage(bytes));
  const parsed = readJson(text, undefined, jsonDepthMax);
  if (!parsed.ok) return refuse(address, parsed.code, parsed.message);
  return readShape(address, parsed.value);
}

/** Like `readEntry`, for fields that are already parsed. */
export function readFields(address: Address, fields: unknown): Entry | Refusal {
  if (isTooDeep(fields)) return refuse(address, 'BAD_SHAPE', tooDeepMessage);
  return readShape(address, fields);
}

const tooLargeMessage = (bytes: number): string => `the payload has ${bytes} bytes; the limit is ${payloadBytesMax}`;

function readShape(address: Address, fields: unknown): Entry | Refusal {
  const { area, fleet, id, type } = address;
  const data = area === 'worker' ? quickRead(type, fields) : null;
  if (data !== null) return { area, fleet, id, type, data } as Entry;
  const schema = (entrySchemas[area] as Record<string, z.ZodType>)[type] as z.ZodType;
  const fault = sizeFault(type, schema, fields as object);
  if (fault !== null) return refuse(address, 'BAD_SHAPE', describeIssues([fault]), [fault]);
  const result = schema.safeParse(fields);
  if (result.success) return { area, fleet, id, type, data: result.data } as Entry;
  const issues = toIssues(result.error, fields);
  const isBadId = issues.some((issue) => issue.message === idFault);
  return refuse(address, isBadId ? 'BAD_ID' : 'BAD_SHAPE', describeIssues(issues), issues);
}

function refuse(address: Address, code: Refusal['code'], message: string, issues: readonly Issue[] = []): Refusal {
  return { code, message, issues, entity: entityOf(address), id: address.id };
}

/** Reads entries from messages. A message that is not a valid entry is refused with a code and a reason. */
import type { z } from 'zod';
import { planStepsMax } from '../policy/plan.ts';
import { policySizeFault } from '../policy/policy-set.ts';
import { idFault } from '../values/id.ts';
import { afterMax, hookMembersMax, jsonDepthMax, labelsMax, payloadBytesMax, rulesMax } from '../values/limits.ts';
import { type Entry, entrySchemas } from './index.ts';
import { isTooDeep, readJson, tooDeepMessage } from './json.ts';
import { quickRead } from './quick-read.ts';
import { describeIssues, type Issue, type Refusal, toIssues } from './refusal.ts';
import { type Address, entityOf, readSubject } from './subject.ts';

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

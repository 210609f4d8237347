/** Reads entries from messages. A message that is not an entry is refused, with a code and a reason. */

import type { z } from 'zod';
import { idFault } from '../values/id.ts';
import { jsonDepthMax, payloadBytesMax } from '../values/limits.ts';
import { type Entry, entrySchemas } from './index.ts';
import { isTooDeep, readJson, tooDeepMessage } from './json.ts';
import { quickRead } from './quick-read.ts';
import { describeIssues, type Issue, type Refusal, toIssues } from './refusal.ts';
import { sizeFault } from './size.ts';
import { type Address, entityOf, readSubjectOnce } from './subject.ts';

/**
 * Reads one entry. `text` is the payload as it came ('' means `{}`), `bytes` its size on the wire.
 * A subject of the log that carries no entry (`decision`, `dead`) gives null.
 */
export function readEntry(subject: string, text: string, bytes: number): Entry | Refusal | null {
  const address = readSubjectOnce(subject);
  if (address === null || 'code' in address) return address;
  if (bytes > payloadBytesMax) return refuse(address, 'TOO_LARGE', tooLargeMessage(bytes));
  const parsed = readJson(text, undefined, jsonDepthMax);
  if (!parsed.ok) return refuse(address, parsed.code, parsed.message);
  return readShape(address, parsed.value);
}

/** The same for fields that are parsed already. */
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

/** Validates input, with the same error texts on every edge. */
import type { z } from 'zod';
import { describeIssues, isId, isTooDeep, payloadBytesMax, toIssues, tooDeepMessage } from '../../machines/index.ts';
import { AppError } from '../errors.ts';

/** @throws AppError input.bad */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error, value);
  throw new AppError('input.bad', describeIssues(issues), { issues });
}

/**
 * @returns the id
 * @throws AppError input.bad
 */
export function checkId(entity: string, id: string): string {
  // In a program in JavaScript it may be missing, and `isId` would read undefined as a word.
  if (typeof id === 'string' && isId(id)) return id;
  const rule = 'letters, digits, _ and - (128 at most)';
  throw new AppError('input.bad', `'${String(id).slice(0, 140)}' is not the id of a ${entity}: ${rule}`, {
    issues: [{ path: entity, message: 'is not an id' }],
  });
}

/**
 * Checks that the log could store this body.
 * @returns the body as JSON
 * @throws AppError input.bad or entry.large
 */
export function checkBody(body: unknown): string {
  if (isTooDeep(body)) throw new AppError('input.bad', tooDeepMessage);
  const text = JSON.stringify(body ?? {});
  checkBytes('request', Buffer.byteLength(text));
  return text;
}

/** @throws AppError entry.large */
export function checkBytes(what: 'request' | 'entry', bytes: number): void {
  if (bytes <= payloadBytesMax) return;
  throw new AppError('entry.large', `the ${what} has ${bytes} bytes; the limit is ${payloadBytesMax}`);
}

/** Refusals: why a message is not an entry, or why an entry is not valid in the current state. */
import type { z } from 'zod';
import { describeIssue } from '../values/describe-issue.ts';

/** In the order in which an entry is validated. */
export const refusalCodes = ['TOO_LARGE', 'BAD_ID', 'UNKNOWN_TYPE', 'NOT_JSON', 'BAD_SHAPE'] as const;

/**
 * Why a payload is not a valid entry. Becomes the body of a dead letter, together with the position in the log
 * (protocol.md §9).
 */
export type Refusal = {
  readonly code: (typeof refusalCodes)[number];
  readonly message: string;
  readonly issues: readonly Issue[];
  /** The dead letter is published under this entity and id; `_` replaces a missing or invalid one. */
  readonly entity: string;
  readonly id: string;
};
export type Issue = { readonly path: string; readonly message: string };

/** A well-formed entry that was not valid in the state it was folded into. Kept with its worker or task. */
export type RefusedEntry = {
  readonly at: string;
  readonly seq: number;
  readonly type: string;
  readonly reason: string;
};

const issuesMax = 20;

/** @param value the value that zod parsed */
export function toIssues(error: z.ZodError, value: unknown): Issue[] {
  return error.issues
    .slice(0, issuesMax)
    .flatMap((issue) => describeIssue(issue, value))
    .slice(0, issuesMax)
    .map(({ path, message }) => ({
      path: path.map(String).join('.'),
      message: path.length === 0 && message.startsWith('must ') ? `the value ${message}` : message,
    }));
}

export function describeIssues(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

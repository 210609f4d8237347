/**
 * Schemas of values that workers and tasks keep, for the tables of their fields. Later releases may add unknown keys.
 */
import { z } from 'zod';
import type { BudgetKind } from './usage.ts';

export const text = z.string();
export const number = z.number();
export const count = z.int().nonnegative();
/** Milliseconds within the range of a date. */
export const time = z.number().min(-8.64e15).max(8.64e15);
export const flag = z.boolean();
export const texts = z.array(text);
export const textOrNull = text.nullable();
export const timeOrNull = time.nullable();
export const numberOrNull = number.nullable();
export const object = z.looseObject;

/** Builds the schema on first use. Commands that read no snapshot would otherwise pay milliseconds for all schemas. */
export const { lazy } = z;

/** A string that contains JSON. */
export const jsonText = text.refine(isJson, 'is not JSON');

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

export const grantedAmounts = lazy(() =>
  object({
    tokens: number.optional(),
    usd: number.optional(),
    turns: number.optional(),
    time: number.optional(),
  } satisfies Record<BudgetKind, z.ZodType>),
);
const used = { tokens: number, nanoUsd: number, turns: number };
export const period = lazy(() =>
  object({
    ...used,
    sinceMs: time,
    granted: object({ ...used, atMs: time, amounts: grantedAmounts.optional() }).nullable(),
  }),
);

const noticed = {
  acknowledgedBy: textOrNull,
  acknowledgedAt: textOrNull,
  notified: count,
  notifiedAt: textOrNull,
};
export const overdue = lazy(() => object({ since: text, ...noticed }));
export const unattended = lazy(() => object({ seq: number, since: text, at: text, ...noticed }));
const escalationShape = () =>
  object({
    seq: count,
    since: text,
    reason: text,
    cause: text,
    budget: text.optional(),
    attempt: textOrNull,
    worker: text,
    ...noticed,
  });
export const escalation = lazy(() => escalationShape().nullable());
export const taskEscalation = lazy(() => escalationShape().extend({ withWorker: flag }).nullable());

export const refused = lazy(() => z.array(object({ at: text, seq: count, type: text, reason: text })));
export const plan = lazy(() =>
  z.array(object({ title: text, status: text, step: text.optional(), task: text.optional() })),
);

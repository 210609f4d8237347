/** The schema of an open attempt in a snapshot. */
import { z } from 'zod';
import { attemptSchema } from '../entries/worker.ts';
import { checkShape, policyShape } from '../policy/policy-shape.ts';
import type { ShapeOf } from '../values/fields.ts';
import {
  count,
  flag,
  grantedAmounts,
  lazy,
  number,
  numberOrNull,
  object,
  period,
  text,
  textOrNull,
  texts,
  time,
  timeOrNull,
} from '../values/shapes.ts';
import type { Attempt, Facts } from './attempt.ts';
import { guardNames, keptFeedback, verdictSchema } from './decision.ts';
import { hookResults, hooks, iteration, judgedTasks } from './task-hooks/hook-shape.ts';

const finding = lazy(() =>
  object({
    kind: z.enum(['pass', 'skip', 'entered', 'fail', 'error', 'escalate', 'warn']),
    message: text.optional(),
    feedback: keptFeedback.nullish(),
  }).refine(
    ({ kind, message }) => ['pass', 'skip', 'entered'].includes(kind) || message !== undefined,
    'has no message',
  ),
);

const pending = lazy(() =>
  object({
    number: count,
    name: text,
    sinceMs: time,
    startedMs: timeOrNull,
    timeoutMs: number,
    deadlineMs: time,
    by: z.enum(['checks', 'hooks']),
    check: checkShape.optional(),
    task: text.optional(),
    key: text.optional(),
    remote: text.optional(),
  }).refine(({ by, check, task, key, remote }) =>
    by === 'checks' ? check !== undefined : task !== undefined && key !== undefined && remote !== undefined,
  ),
);

const facts = lazy(() =>
  object({
    nowMs: time,
    limited: flag,
    queue: text,
    pendingTasks: count,
    nextTasks: z.array(object({ task: text, title: textOrNull })),
    tasks: z.array(object({ task: text, hooks, iteration: iteration.nullable(), phase: textOrNull, usage: period })),
    day: object({
      budget: object({}),
      used: object({ tokens: number, nanoUsd: number }),
      amounts: grantedAmounts.optional(),
    }).nullable(),
  } satisfies ShapeOf<Facts>),
);

export const attemptShape = lazy(() =>
  object({
    attempt: text,
    seq: count,
    atMs: time,
    fields: attemptSchema,
    inForce: object({ name: text, seq: count, policy: policyShape, notes: texts }),
    idleLimitMs: numberOrNull,
    holdUntilMs: number,
    facts,
    guard: z.enum(guardNames),
    verdicts: z.array(verdictSchema),
    isHeld: flag,
    judgedTasks,
    feedback: z.array(keptFeedback),
    findings: z.record(text, finding),
    hookResults,
    pending: pending.nullable(),
    pendingCount: count,
    waitedMs: object({ checks: number, hooks: number }),
  } satisfies ShapeOf<Attempt>),
);

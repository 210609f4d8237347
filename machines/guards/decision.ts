/** A decision: the answer to an attempt (protocol.md §5), with one verdict per guard. */
import { z } from 'zod';
import { feedbackSchema } from '../policy/checks/check-result.ts';
import { growthOf, sizeOfJson, sizesOf } from '../values/fields.ts';
import { causes, workerStates } from '../values/states.ts';

/** The guards in the order of protocol.md §5. The first that does not pass decides. */
export const guardNames = [
  'retired',
  'escalated',
  'bypass',
  'limited',
  'waiting',
  'promise',
  'checks',
  'hooks',
  'retries',
  'stuck',
  'pending',
  'idle',
  'done',
] as const;
export type GuardName = (typeof guardNames)[number];

/** Evaluated only when `checks` or `hooks` is about to block; recorded only when they decide. */
export const failureGuards = ['retries', 'stuck'] as const;
export type FailureGuard = (typeof failureGuards)[number];
export const isFailureGuard = (guard: string): guard is FailureGuard =>
  (failureGuards as readonly string[]).includes(guard);
/** The guards that judge the work. They may wait for answers from outside. */
export const workGuards = ['checks', 'hooks'] as const;
export type WorkGuard = (typeof workGuards)[number];
export const isWorkGuard = (guard: string | null): guard is WorkGuard =>
  guard !== null && (workGuards as readonly string[]).includes(guard);

/** `input` (the judged values) and `tookMs` (time spent waiting) are set only if the guard decided or had an error. */
export const verdictSchema = z.object({
  guard: z.enum([...guardNames, 'policy']),
  verdict: z.enum(['pass', 'block', 'allow', 'error']),
  detail: z.string(),
  input: z.record(z.string(), z.unknown()).optional(),
  tookMs: z.number().optional(),
});
export type Verdict = z.infer<typeof verdictSchema>;

const idleSchema = z.object({
  ms: z.number(),
  limitMs: z.number().nullable().describe('null: persistence off or no timeout'),
  remainingMs: z.number().nullable(),
});
export type Idle = z.infer<typeof idleSchema>;

type DecisionField = {
  readonly schema: z.ZodType;
  /**
   * Thousands of decisions agree in their shared fields, so a snapshot writes each combination of them once. The other
   * fields are written for each worker, unless they equal `start`.
   */
  readonly isShared: boolean;
  readonly start: unknown;
  /** The schema in snapshots, or null if it is `schema`. */
  readonly kept: z.ZodType | null;
  /** Size in units of the state. */
  readonly size: ((value: never) => number) | null;
  readonly codec: null;
};
type Sized<Schema extends z.ZodType> = { kept?: z.ZodType; size?: (value: z.infer<Schema>) => number };

const shared = <Schema extends z.ZodType>(schema: Schema, { kept, size }: Sized<Schema> = {}) =>
  ({ schema, isShared: true, start: null, kept: kept ?? null, size: size ?? null, codec: null }) as const;
const own = <Schema extends z.ZodType>(schema: Schema, start: z.infer<Schema>, { kept, size }: Sized<Schema> = {}) =>
  ({ schema, isShared: false, start, kept: kept ?? null, size: size ?? null, codec: null }) as const;

/** Undefined `details` are missing in JSON. */
export const keptFeedback = feedbackSchema.partial({ details: true });

const lengthOf = (value: string | null): number => value?.length ?? 0;

/** The fields of a decision in the order of its JSON. `decisionOf` (`worker/decide.ts`) builds decisions. */
export const decisionFields = {
  v: shared(z.literal(1)),
  fleet: shared(z.string()),
  worker: own(z.string(), ''),
  task: own(z.string().nullable().describe('the held task that was claimed last'), null),
  tasks: own(z.array(z.string()).describe('all held tasks, in the order of the claims'), [], { size: sizeOfJson }),
  attempt: own(z.string().nullable(), null),
  seq: own(z.number().nullable(), null),
  at: own(z.string(), ''),
  decision: shared(z.enum(['allow', 'block'])),
  action: shared(z.enum(['complete', 'continue', 'escalate'])),
  cause: shared(z.enum(causes)),
  reason: shared(z.string(), { size: lengthOf }),
  nextPrompt: shared(z.string().nullable(), { size: lengthOf }),
  feedback: shared(z.array(feedbackSchema), { kept: z.array(keptFeedback), size: sizeOfJson }),
  state: shared(z.enum(workerStates)),
  retry: shared(z.object({ count: z.number(), max: z.number().nullable() })),
  keepAlives: shared(z.object({ count: z.number(), max: z.number().nullable() })),
  idle: own(idleSchema, { ms: 0, limitMs: null, remainingMs: null }),
  pendingTasks: own(z.number(), 0),
  policy: shared(z.object({ name: z.string(), seq: z.number() })),
  verdicts: shared(z.array(verdictSchema), { size: sizeOfVerdicts }),
  replica: shared(z.string()),
  tookMs: shared(z.number()),
  dryRun: shared(z.boolean()),
} satisfies Record<string, DecisionField>;

type Rows = typeof decisionFields;

export const decisionSchema = z.object(
  Object.fromEntries(Object.entries(decisionFields).map(([name, { schema }]) => [name, schema])) as {
    [Name in keyof Rows]: Rows[Name]['schema'];
  },
);
/** `tookMs` and `replica` are filled in by the replica that answers; in the fold they are 0 and ''. */
export type Decision = z.infer<typeof decisionSchema>;

const keptFields = (isKept: (field: DecisionField) => boolean): Record<string, DecisionField> =>
  Object.fromEntries(
    Object.entries<DecisionField>(decisionFields)
      .filter(([, field]) => isKept(field))
      .map(([name, field]) => [name, { ...field, schema: field.kept ?? field.schema }]),
  );
/** The fields that a snapshot holds once for all equal decisions, and the fields that it holds for each worker. */
export const sharedDecisionFields = keptFields(({ isShared }) => isShared);
export const ownDecisionFields = keptFields(({ isShared }) => !isShared);

/** A whole decision in a snapshot. */
export const keptDecision = z.lazy(() =>
  z.object(Object.fromEntries(Object.entries(keptFields(() => true)).map(([name, { schema }]) => [name, schema]))),
);

function sizeOfVerdicts(verdicts: readonly Verdict[]): number {
  let size = 0;
  for (const { detail, input } of verdicts) size += detail.length + (input === undefined ? 0 : sizeOfJson(input));
  return size;
}

/** The size of a typical decision. A worker's fixed size includes it, so stops can be judged even in a full fleet. */
const typicalSize = 1_024;
const sizes = sizesOf(decisionFields);

/** Returns how much larger the decision is than a typical one. */
export const decisionSizeBeyond = (decision: Decision): number =>
  Math.max(0, growthOf(sizes, null, decision) - typicalSize);

/** The answer of a task's hooks to an iteration (protocol.md §7; seed 001, StopHookResult). */
export const hookResultSchema = z.object({
  fleet: z.string(),
  attempt: z.string().nullable(),
  hookId: z.string().describe('the hook that decided; "default" if there is none'),
  taskId: z.string(),
  iteration: z.number(),
  action: z.enum(['complete', 'continue', 'escalate']),
  reason: z.string(),
  nextPrompt: z.string().nullable(),
  checkpointCreated: z.boolean(),
  metadata: z.record(z.string(), z.unknown()),
});
export type HookResult = Readonly<z.infer<typeof hookResultSchema>>;

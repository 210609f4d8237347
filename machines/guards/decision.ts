/** The answer to an attempt (protocol.md §5): allow or block, and why, guard by guard. */
import { z } from 'zod';
import { feedbackSchema } from '../policy/checks/check-result.ts';
import { growthOf, sizeOfJson, sizesOf } from '../values/fields.ts';
import { causes, workerStates } from '../values/states.ts';

/** The guards in the protocol's order (protocol.md §5): the first that decides, decides. */
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

/** Asked only if `checks` or `hooks` would block, before the block is given; listed only if they decide, and then last. */
export const failureGuards = ['retries', 'stuck'] as const;
export type FailureGuard = (typeof failureGuards)[number];
/** The guards whose block says that the work is not done, and that may wait for answers from outside. */
export const workGuards = ['checks', 'hooks'] as const;
export type WorkGuard = (typeof workGuards)[number];
export const isWorkGuard = (guard: string | null): guard is WorkGuard => guard === 'checks' || guard === 'hooks';

/** Only where a guard decided or was in error: `input`, what it looked at, and `tookMs`, how long it waited for answers. */
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
   * Thousands of decisions have the same values in the fields that are shared: a snapshot holds each combination once.
   * The others are a worker's own, and are left out while they have the value of `start`.
   */
  readonly isShared: boolean;
  readonly start: unknown;
  /** What a snapshot may hold, where that is not what the schema says. */
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

/** JSON leaves out `details` that are undefined. */
export const keptFeedback = feedbackSchema.partial({ details: true });

const lengthOf = (value: string | null): number => value?.length ?? 0;

/** A row for each field, in the order of its JSON. `decisionOf` (`worker/decide.ts`) makes a decision. */
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
/** The fields that a snapshot holds once for all equal decisions, and those that it holds for each worker. */
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

/** The size of a usual decision, which the fixed size of a worker includes: so a stop is judged in a full fleet, too. */
const usualSize = 1_024;
const sizes = sizesOf(decisionFields);

/** How much larger it is than a usual one. */
export const decisionSizeBeyond = (decision: Decision): number =>
  Math.max(0, growthOf(sizes, null, decision) - usualSize);

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

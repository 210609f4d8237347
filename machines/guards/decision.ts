/** The answer to an attempt (protocol.md §5): allow or block, and why, guard by guard. */
import { z } from 'zod';
import { feedbackSchema } from '../policy/checks/check-result.ts';
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

export const decisionSchema = z.object({
  v: z.literal(1),
  fleet: z.string(),
  worker: z.string(),
  task: z.string().nullable().describe('the held task that was claimed last'),
  tasks: z.array(z.string()).describe('all held tasks, in the order of the claims'),
  attempt: z.string().nullable(),
  seq: z.number().nullable(),
  at: z.string(),
  decision: z.enum(['allow', 'block']),
  action: z.enum(['complete', 'continue', 'escalate']),
  cause: z.enum(causes),
  reason: z.string(),
  nextPrompt: z.string().nullable(),
  feedback: z.array(feedbackSchema),
  state: z.enum(workerStates),
  retry: z.object({ count: z.number(), max: z.number().nullable() }),
  keepAlives: z.object({ count: z.number(), max: z.number().nullable() }),
  idle: idleSchema,
  pendingTasks: z.number(),
  policy: z.object({ name: z.string(), seq: z.number() }),
  verdicts: z.array(verdictSchema),
  replica: z.string(),
  tookMs: z.number(),
  dryRun: z.boolean(),
});
/** `tookMs` and `replica` are filled in by the replica that answers; in the fold they are 0 and ''. */
export type Decision = z.infer<typeof decisionSchema>;

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

/** A policy: the rules by which a stop is judged (protocol.md §8). */
import { z } from 'zod';
import { durationSchema, idSchema, type ObjectMaker } from '../values/schemas.ts';
import { type BackgroundPolicy, createBackgroundForm, normalizeBackground } from './background.ts';
import { type Budget, createBudgetForm, normalizeBudget } from './budget.ts';
import type { Check } from './checks/check.ts';
import { createCheckForm, normalizeChecks } from './checks/form.ts';
import { createPersistenceForm, normalizePersistence, type Persistence } from './persistence.ts';

/** `mask`: ignore numbers, times, paths and durations when comparing failures. */
export type StuckAfter = { readonly times: number; readonly mask: boolean };

/** The normal form: defaults filled in, durations in milliseconds, every check named. */
export type Policy = {
  readonly retries: number | null;
  readonly onCap: 'allow' | 'escalate';
  /** Null if workers are never considered stuck. */
  readonly stuckAfter: StuckAfter | null;
  readonly promises: boolean;
  readonly keepAlives: number | null;
  /** Null if persistence is off. */
  readonly persistence: Persistence | null;
  readonly budget: Budget | null;
  /** Whether a person is asked when a budget is used up. */
  readonly onBudget: 'allow' | 'escalate';
  readonly bypass: readonly string[];
  /** How long a stop waits for background work, and whether it is blocked meanwhile. */
  readonly background: BackgroundPolicy;
  /** Whether people may pause a worker. */
  readonly pause: 'allow' | 'deny';
  /** How long a permission request is held for an operator's answer; null if it is not held. */
  readonly askMs: number | null;
  /** How long a running tool keeps its worker from being stale. */
  readonly toolTimeMs: number;
  readonly onStale: 'wait' | 'escalate';
  readonly stopWhenComplete: boolean;
  readonly steps: 'free' | 'gate';
  /** With `all`, every check runs and a block lists all failures. */
  readonly failures: 'first' | 'all';
  readonly checks: readonly Check[];
  readonly runner: string | null;
  readonly runners: readonly string[];
};

export function createPolicyForm(object: ObjectMaker) {
  return object({
    retries: z
      .int()
      .nonnegative()
      .nullable()
      .optional()
      .describe('how many stops are blocked before `onCap` applies; null: no cap'),
    onCap: z.enum(['allow', 'escalate']).optional(),
    stuckAfter: z
      .union([
        z.int().positive(),
        object({
          times: z.int().positive(),
          mask: z.boolean().optional().describe('ignore numbers, times, paths and durations when comparing failures'),
        }),
      ])
      .nullable()
      .optional()
      .describe('escalate after n identical failures'),
    promises: z.boolean().optional().describe('read <promise>ESCALATE</promise> and BLOCKED from the output'),
    keepAlives: z.int().nonnegative().nullable().optional().describe('blocks that keep a worker alive; null: no cap'),
    persistence: createPersistenceForm(object).optional(),
    budget: createBudgetForm(object)
      .nullable()
      .optional()
      .describe('what may be used before stops are no longer judged; usage comes from the agents, see usage.reported'),
    onBudget: z.enum(['allow', 'escalate']).optional().describe('when a budget is used up'),
    bypass: z.array(z.string().min(1)).optional().describe('stop reasons that are not judged'),
    background: createBackgroundForm(object).optional().describe('work that continues when the agent stops'),
    pause: z.enum(['allow', 'deny']).optional().describe('deny: no person may pause a worker'),
    ask: z
      .union([z.literal('off'), durationSchema])
      .optional()
      .describe("how long an agent's permission request is held for an operator's answer"),
    toolTime: durationSchema.optional().describe('how long a running tool keeps its worker from being stale'),
    onStale: z.enum(['wait', 'escalate']).optional().describe('what happens when a worker with a task is stale'),
    stopWhenComplete: z.boolean().optional(),
    steps: z.enum(['free', 'gate']).optional(),
    failures: z.enum(['first', 'all']).optional().describe('all: every check runs, and a block lists all failures'),
    checks: z
      .array(createCheckForm(object))
      .optional()
      .describe('in order; all must pass; the first that fails decides'),
    runner: idSchema
      .optional()
      .describe('the "stopgate runner" for command, files, git and judge checks; default: the service'),
    runners: z
      .array(idSchema)
      .optional()
      .describe("allowed runners; the worker's label runner selects one, and without it the check is an error"),
  });
}

type PolicyForm = z.infer<ReturnType<typeof createPolicyForm>>;

/** Half an hour: builds and test suites take less. */
const toolTimeMsDefault = 1_800_000;
const none: readonly never[] = Object.freeze([]);
const bypassDefault = Object.freeze(['budget_exhausted', 'deadline_exceeded', 'user_interrupt']);

export function normalizePolicy(form: PolicyForm): Policy {
  return Object.freeze({
    retries: form.retries === undefined ? 3 : form.retries,
    onCap: form.onCap ?? 'allow',
    stuckAfter: normalizeStuckAfter(form.stuckAfter ?? null),
    promises: form.promises ?? false,
    keepAlives: form.keepAlives ?? null,
    persistence: normalizePersistence(form.persistence),
    budget: normalizeBudget(form.budget),
    onBudget: form.onBudget ?? 'allow',
    bypass: form.bypass ?? bypassDefault,
    background: normalizeBackground(form.background),
    pause: form.pause ?? 'allow',
    askMs: form.ask === undefined || form.ask === 'off' || form.ask === 0 ? null : form.ask,
    toolTimeMs: form.toolTime ?? toolTimeMsDefault,
    onStale: form.onStale ?? 'wait',
    stopWhenComplete: form.stopWhenComplete ?? false,
    steps: form.steps ?? 'free',
    failures: form.failures ?? 'first',
    checks: form.checks === undefined ? none : normalizeChecks(form.checks),
    runner: form.runner ?? null,
    runners: form.runners ?? none,
  });
}

function normalizeStuckAfter(form: NonNullable<PolicyForm['stuckAfter']> | null): StuckAfter | null {
  if (form === null) return null;
  return typeof form === 'number' ? { times: form, mask: false } : { times: form.times, mask: form.mask ?? false };
}

/** In force if no policy was ever set, or the set has no `default`. */
export const builtInPolicy: Policy = normalizePolicy({});

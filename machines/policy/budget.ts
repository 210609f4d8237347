/** Budgets: how much an agent may use before its stops are no longer judged (protocol.md §8). */
import { z } from 'zod';
import { amountText, describeAmounts } from '../values/amounts.ts';
import { durationSchema, type ObjectMaker } from '../values/schemas.ts';
import { durationMsMax } from '../values/time.ts';
import {
  type BudgetKind,
  budgetKinds,
  countedOf,
  type GrantedAmounts,
  type Period,
  type Used,
  usdOf,
  type WorkerUsage,
} from '../values/usage.ts';

/** Limits are null if unset. `per`: the period over which usage counts. */
export type Budget = {
  readonly tokens: number | null;
  readonly usd: number | null;
  readonly turns: number | null;
  readonly timeMs: number | null;
  readonly per: 'session' | 'prompt' | 'task';
};
/** The budget of all workers of a fleet together, per UTC day of the log's clock. */
export type DayBudget = { readonly tokens?: number | null; readonly usd?: number | null };

const tokens = z.int().nonnegative().optional().describe('input, output and cache-write tokens');
const usd = z.number().nonnegative().optional();

export const createBudgetForm = (object: ObjectMaker) =>
  object({
    tokens,
    usd,
    turns: z.int().nonnegative().optional().describe('maximum number of earlier attempts to stop'),
    time: durationSchema.optional().describe('since the registration, the prompt or the claim'),
    per: z.enum(['session', 'prompt', 'task']).optional(),
  });

export const createDayBudgetForm = (object: ObjectMaker) => object({ tokens, usd, per: z.literal('day').optional() });

export function normalizeBudget(form: z.infer<ReturnType<typeof createBudgetForm>> | null | undefined): Budget | null {
  if (form === null || form === undefined) return null;
  return {
    tokens: form.tokens ?? null,
    usd: form.usd ?? null,
    turns: form.turns ?? null,
    timeMs: form.time ?? null,
    per: form.per ?? 'session',
  };
}

export function normalizeDayBudget(
  form: z.infer<ReturnType<typeof createDayBudgetForm>> | null | undefined,
): DayBudget | null {
  return form === null || form === undefined ? null : { tokens: form.tokens ?? null, usd: form.usd ?? null };
}

/**
 * The most that a person can grant at once. Sums stop growing at nine million dollars and nine quadrillion tokens
 * (values/usage.ts), so a larger grant could never be used up.
 */
const grantMax = { tokens: 1_000_000_000_000, usd: 1_000_000, turns: 1_000_000, time: durationMsMax } as const;

const grantFields = {
  tokens: z.int().nonnegative().max(grantMax.tokens).optional(),
  usd: z.number().nonnegative().max(grantMax.usd).optional(),
  turns: z.int().nonnegative().max(grantMax.turns).optional(),
  time: z.int().nonnegative().max(grantMax.time).optional().describe('in milliseconds'),
} satisfies Record<BudgetKind, z.ZodType>;

/**
 * The amounts that a person grants. One that is not recognised makes the whole answer malformed: ignoring it could grant
 * more than the person meant.
 */
export const grantForm = z
  .strictObject(grantFields)
  .refine((grant) => Object.values(grant).some((amount) => amount !== undefined), 'names no amount');

/** Returns the amounts that are set, or null if there are none. */
export function amountsOf(grant: GrantedAmounts | undefined): GrantedAmounts | null {
  const amounts: { -readonly [Kind in BudgetKind]?: number } = {};
  for (const kind of budgetKinds) {
    const amount = grant?.[kind];
    if (amount !== undefined) amounts[kind] = amount;
  }
  return Object.keys(amounts).length === 0 ? null : amounts;
}

const periods = ['session', 'prompt', 'task', 'day'] as const;
export type BudgetPeriod = (typeof periods)[number];
export const isBudgetPeriod = (text: unknown): text is BudgetPeriod => (periods as readonly unknown[]).includes(text);

/**
 * One limit of a budget, and its usage. Amounts are in tokens, dollars, turns or milliseconds. `configured`: the
 * configured limit, if a person has granted another amount, which is `limit` then.
 */
export type BudgetLine = {
  readonly per: BudgetPeriod;
  readonly kind: BudgetKind;
  readonly used: number;
  readonly limit: number;
  readonly configured?: number;
};

/** The usage of a task since its last claim. */
export type TaskUsage = Period;
/** The usage of the fleet today, or since a person granted its budget again. `amounts`: those that the person chose. */
export type DayUsage = {
  readonly budget: DayBudget;
  readonly used: Pick<Used, 'tokens' | 'nanoUsd'>;
  readonly amounts?: GrantedAmounts;
};

/**
 * Returns the limits that apply to a worker, those of its policy first.
 * @param task usage of the task claimed last; null without a task, when a budget per task does not apply
 */
export function budgetLines(
  { budget }: { readonly budget: Budget | null },
  usage: WorkerUsage,
  task: TaskUsage | null,
  day: DayUsage | null,
  nowMs: number,
): readonly BudgetLine[] {
  const lines: BudgetLine[] = [];
  const period = budget === null ? null : budget.per === 'task' ? task : usage[budget.per];
  if (budget !== null && period !== null) {
    const { per } = budget;
    const used = countedOf(period);
    const sinceMs = Math.max(period.sinceMs, period.granted?.atMs ?? 0);
    const add = adderTo(lines, per, period.granted?.amounts);
    add('tokens', used.tokens, budget.tokens);
    add('usd', usdOf(used.nanoUsd), budget.usd);
    add('turns', used.turns, budget.turns);
    add('time', Math.max(0, nowMs - sinceMs), budget.timeMs);
  }
  if (day !== null) {
    const { budget: daily, used } = day;
    const add = adderTo(lines, 'day', day.amounts);
    add('tokens', used.tokens, daily.tokens);
    add('usd', usdOf(used.nanoUsd), daily.usd);
  }
  return lines;
}

/** Returns a function that adds a limit if it is configured. An amount alone is not a limit. */
const adderTo =
  (lines: BudgetLine[], per: BudgetPeriod, amounts: GrantedAmounts | undefined) =>
  (kind: BudgetKind, used: number, configured: number | null | undefined): void => {
    if (configured == null) return;
    const limit = amounts?.[kind];
    lines.push(limit === undefined ? { per, kind, used, limit: configured } : { per, kind, used, limit, configured });
  };

/** Returns the first exhausted limit, or null. */
export const usedUp = (lines: readonly BudgetLine[]): BudgetLine | null =>
  lines.find(({ used, limit }) => used >= limit) ?? null;

/** Formats as `usd 10.02 of 10`, `time 12m of 10m`, or `usd 5.01 of 5 granted` if a person chose the amount. */
export const describeLine = ({ kind, used, limit, configured }: BudgetLine): string =>
  `${kind} ${amountText(kind, used)} of ${amountText(kind, limit)}${configured === undefined ? '' : ' granted'}`;

/** Describes the `grant` of an entry, which may be anything: `granted usd 5`. Null if no amount is recognised. */
export function describeGrant(grant: unknown): string | null {
  const amounts = amountsOf(grantForm.safeParse(grant).data);
  return amounts === null ? null : `granted ${describeAmounts(amounts)}`;
}

/** Budgets: how much an agent may use before its stops are no longer judged (protocol.md §8). */
import { z } from 'zod';
import { durationSchema, type ObjectMaker } from '../values/schemas.ts';
import { formatDuration } from '../values/time.ts';
import { countedOf, type Period, type Used, usdOf, type WorkerUsage } from '../values/usage.ts';

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

const periods = ['session', 'prompt', 'task', 'day'] as const;
export type BudgetPeriod = (typeof periods)[number];
export const isBudgetPeriod = (text: unknown): text is BudgetPeriod => (periods as readonly unknown[]).includes(text);

/** One limit of a budget, and its usage. `used` and `limit` are in tokens, dollars, turns or milliseconds. */
export type BudgetLine = {
  readonly per: BudgetPeriod;
  readonly kind: 'tokens' | 'usd' | 'turns' | 'time';
  readonly used: number;
  readonly limit: number;
};

/** The usage of a task since its last claim. */
export type TaskUsage = Period;
/** The usage of the fleet today, or since a person granted its budget again. */
export type DayUsage = { readonly budget: DayBudget; readonly used: Pick<Used, 'tokens' | 'nanoUsd'> };

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
    if (budget.tokens !== null) lines.push({ per, kind: 'tokens', used: used.tokens, limit: budget.tokens });
    if (budget.usd !== null) lines.push({ per, kind: 'usd', used: usdOf(used.nanoUsd), limit: budget.usd });
    if (budget.turns !== null) lines.push({ per, kind: 'turns', used: used.turns, limit: budget.turns });
    if (budget.timeMs !== null) {
      const sinceMs = Math.max(period.sinceMs, period.granted?.atMs ?? 0);
      lines.push({ per, kind: 'time', used: Math.max(0, nowMs - sinceMs), limit: budget.timeMs });
    }
  }
  if (day !== null) {
    const { budget: daily, used } = day;
    if (daily.tokens != null) lines.push({ per: 'day', kind: 'tokens', used: used.tokens, limit: daily.tokens });
    if (daily.usd != null) lines.push({ per: 'day', kind: 'usd', used: usdOf(used.nanoUsd), limit: daily.usd });
  }
  return lines;
}

/** Returns the first exhausted limit, or null. */
export const usedUp = (lines: readonly BudgetLine[]): BudgetLine | null =>
  lines.find(({ used, limit }) => used >= limit) ?? null;

/** Formats as `usd 10.02 of 10` or `time 12m of 10m`. */
export const describeLine = ({ kind, used, limit }: BudgetLine): string =>
  `${kind} ${amountText(kind, used)} of ${amountText(kind, limit)}`;

/** Shows even tiny dollar amounts as decimals, without an exponent. */
function amountText(kind: BudgetLine['kind'], amount: number): string {
  if (kind === 'time') return formatDuration(amount);
  const text = String(amount);
  return kind === 'usd' && text.includes('e-') ? amount.toFixed(9).replace(/\.?0+$/, '') : text;
}

/**
 * Counts the tokens, money and turns that agents use, as sums that only grow (protocol.md §3). Money is kept in whole
 * billionths of a dollar, so that a thousand reports of 0.1 add up to exactly 100 on every replica.
 */

/** The increments of a `usage.reported` entry. */
export type UsageReport = {
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly usd?: number | undefined;
  readonly model?: string | undefined;
};

/** `turns`: attempts to stop. */
export type Used = { readonly tokens: number; readonly nanoUsd: number; readonly turns: number };

/** The usage since `sinceMs`. `granted`: the sums when a person last granted the budget again, or null. */
export type Period = Used & { readonly sinceMs: number; readonly granted: Grant | null };
/** `amounts`: the amounts that the person chose. A limit without one is granted as it is configured. */
type Grant = Used & { readonly atMs: number; readonly amounts?: GrantedAmounts };

/** Amounts by the names that a budget's limits have. `time` is in milliseconds. */
export type GrantedAmounts = { readonly [Kind in BudgetKind]?: number | undefined };
export const budgetKinds = ['tokens', 'usd', 'turns', 'time'] as const;
export type BudgetKind = (typeof budgetKinds)[number];

/** The usage of a worker since its session began, and since its last prompt. */
export type WorkerUsage = { readonly session: Period; readonly prompt: Period };

export const unused: Used = Object.freeze({ tokens: 0, nanoUsd: 0, turns: 0 });

/** The usage of a task that nobody has claimed yet. */
export const unusedPeriod: Period = Object.freeze({ ...unused, sinceMs: 0, granted: null });

export const beginPeriod = (sinceMs: number): Period => ({ tokens: 0, nanoUsd: 0, turns: 0, sinceMs, granted: null });

export function beginUsage(sinceMs: number): WorkerUsage {
  const period = beginPeriod(sinceMs);
  return { session: period, prompt: period };
}

const nanosPerUsd = 1_000_000_000;

/** Agents can report any number. Caps sums where integers are still exact: above nine million dollars. */
const capped = (sum: number): number => Math.min(sum, Number.MAX_SAFE_INTEGER);

/** Counts tokens towards a budget. Tokens read from a cache cost a tenth and are not new work, so they do not count. */
export const tokensOf = ({ input = 0, output = 0, cacheWrite = 0 }: UsageReport): number =>
  capped(input + output + cacheWrite);

const nanoUsdOf = (usd: number): number => capped(Math.round(usd * nanosPerUsd));
/**
 * Rounds to billionths of a dollar, in which usage is summed. A difference of two sums may be 0.0006000000000000001.
 */
export const roundUsd = (usd: number): number => usdOf(nanoUsdOf(usd));
/** Returns the double nearest to the decimal sum. */
export const usdOf = (nanoUsd: number): number => nanoUsd / nanosPerUsd;

export const addUsed = (sum: Used, more: Used): Used => ({
  tokens: capped(sum.tokens + more.tokens),
  nanoUsd: capped(sum.nanoUsd + more.nanoUsd),
  turns: sum.turns + more.turns,
});

export const addToPeriod = (sum: Period, more: Used): Period => ({
  tokens: capped(sum.tokens + more.tokens),
  nanoUsd: capped(sum.nanoUsd + more.nanoUsd),
  turns: sum.turns + more.turns,
  sinceMs: sum.sinceMs,
  granted: sum.granted,
});

export const oneTurn: Used = Object.freeze({ tokens: 0, nanoUsd: 0, turns: 1 });
export const useOf = (report: UsageReport): Used => ({
  tokens: tokensOf(report),
  nanoUsd: nanoUsdOf(report.usd ?? 0),
  turns: 0,
});

export const addToBoth = ({ session, prompt }: WorkerUsage, more: Used): WorkerUsage => {
  const added = addToPeriod(session, more);
  return { session: added, prompt: prompt === session ? added : addToPeriod(prompt, more) };
};

/**
 * Grants the budget again to answer an escalation: usage counts from here. Only a chosen amount replaces one that was
 * chosen since the escalation, because several workers and tasks may have been escalated for the same budget.
 * @param amounts those that the person chose, or null for the configured ones
 */
export function grantPeriod<Sum extends Used & Pick<Period, 'granted'>>(
  sum: Sum,
  amounts: GrantedAmounts | null,
  { atMs, escalatedMs }: { readonly atMs: number; readonly escalatedMs: number },
): Sum {
  const { tokens, nanoUsd, turns, granted: before } = sum;
  if (amounts === null && before?.amounts !== undefined && before.atMs >= escalatedMs) return sum;
  const granted = { tokens, nanoUsd, turns, atMs };
  return { ...sum, granted: amounts === null ? granted : { ...granted, amounts } };
}

/** Returns the usage that counts towards a budget: since the period began, or since the budget was granted again. */
export const countedOf = ({ tokens, nanoUsd, turns, granted }: Used & Pick<Period, 'granted'>): Used =>
  granted === null
    ? { tokens, nanoUsd, turns }
    : { tokens: tokens - granted.tokens, nanoUsd: nanoUsd - granted.nanoUsd, turns: turns - granted.turns };

/** The usage as views show it. */
export type UsageView = { readonly tokens: number; readonly usd: number; readonly turns: number };
export const viewUsage = ({ tokens, nanoUsd, turns }: Used): UsageView => ({ tokens, usd: usdOf(nanoUsd), turns });

// Sums of usage reports, grouped by day, model, task or worker.

/** `cacheRead`: tokens that count towards no budget. `reports`: the number of reports in the sum. */
export type UsageSum = Used & { readonly cacheRead: number; readonly reports: number };
/** `name` is null if the report named no model, or the worker held no task. */
export type NamedUsage = { readonly name: string | null } & UsageSum;

export const noUsage: UsageSum = Object.freeze({ ...unused, cacheRead: 0, reports: 0 });

export const sumOfReport = (report: UsageReport): UsageSum => ({
  ...useOf(report),
  cacheRead: report.cacheRead ?? 0,
  reports: 1,
});

export const addUsage = (sum: UsageSum, more: UsageSum): UsageSum => ({
  cacheRead: sum.cacheRead + more.cacheRead,
  reports: sum.reports + more.reports,
  ...addUsed(sum, more),
});

export const byName = (a: NamedUsage, b: NamedUsage): number => ((a.name ?? '') < (b.name ?? '') ? -1 : 1);
export const byCost = (a: NamedUsage, b: NamedUsage): number =>
  b.nanoUsd - a.nanoUsd || b.tokens - a.tokens || byName(a, b);

/** Returns a sum as programs receive it, with money in dollars. */
export function showUsage({ cacheRead, reports, ...used }: UsageSum) {
  const { usd, tokens } = viewUsage(used);
  return { usd, tokens, cacheRead, reports };
}

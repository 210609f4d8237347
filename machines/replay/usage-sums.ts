/** Sums of what agents have reported as used, by any name: a day, a model, a task or a worker. */
import { addUsed, type UsageReport, type Used, unused, useOf, viewUsage } from '../values/usage.ts';

/** `cacheRead`: tokens that count towards no budget. `reports`: how many were added up. */
export type UsageSum = Used & { readonly cacheRead: number; readonly reports: number };
/** `name` null: no model was named, or no task was held. */
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

/** Returns a sum as programs get it, in dollars. */
export function showUsage({ cacheRead, reports, ...used }: UsageSum) {
  const { usd, tokens } = viewUsage(used);
  return { usd, tokens, cacheRead, reports };
}

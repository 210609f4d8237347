/** A worker's plan: its steps in order, how entries change it, and what remains of it (protocol 3; seed 002). */
import { z } from 'zod';
import { idSchema } from '../values/schemas.ts';

export const planStepsMax = 500;
const shownTitlesMax = 3;
const shownTitleLength = 30;

export const stepSchema = z.object({ title: z.string(), status: z.string(), step: idSchema.optional() });
export const stepsSchema = z.array(stepSchema).max(planStepsMax);
export type Step = z.infer<typeof stepSchema>;
export type Plan = readonly Step[];

export const noPlan: Plan = [];

/** Done is `done`, `completed` or `cancelled`; anything else is not done. */
export const isDone = (step: Step): boolean => doneStatuses.has(step.status);
const doneStatuses: ReadonlySet<string> = new Set(['done', 'completed', 'cancelled']);

/** One step by its id: added at the end, changed, or with status `deleted` taken out. */
export function updateStep(
  plan: Plan,
  change: { readonly step: string; readonly title?: string | undefined; readonly status?: string | undefined },
): Plan {
  const index = plan.findIndex((step) => step.step === change.step);
  if (change.status === 'deleted') return index < 0 ? plan : plan.toSpliced(index, 1);
  const old = plan[index];
  const step = {
    title: change.title ?? old?.title ?? change.step,
    status: change.status ?? old?.status ?? 'pending',
    step: change.step,
  };
  return old === undefined ? [...plan, step] : plan.with(index, step);
}

/** Null: nothing remains. Else the fixed words of protocol 5, with three titles of 30 code points at most. */
export function remainingWords(plan: Plan): string | null {
  const open = plan.filter((step) => !isDone(step));
  if (open.length === 0) return null;
  const titles = open.slice(0, shownTitlesMax).map((step) => [...step.title].slice(0, shownTitleLength).join(''));
  if (open.length > shownTitlesMax) titles.push('…');
  return `${open.length} of ${plan.length} plan steps remain: ${titles.join(', ')}`;
}

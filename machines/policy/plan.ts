/** A worker's plan: its steps in order, and how entries change it (protocol.md §3; seed 002). No zod: light rooms use it. */

export const planStepsMax = 500;

export type Step = { readonly title: string; readonly status: string; readonly step?: string | undefined };
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

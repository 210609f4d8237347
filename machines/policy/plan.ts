/** A worker's plan: its steps in order, and how entries change it (protocol.md §3; seed 002). Free of zod. */
import { perItem } from '../values/fields.ts';

export const planStepsMax = 500;

/** `step`: the id of the step. `task`: the held task that it belongs to. */
export type Step = {
  readonly title: string;
  readonly status: string;
  readonly step?: string | undefined;
  readonly task?: string | undefined;
};
export type Plan = readonly Step[];

export const noPlan: Plan = Object.freeze([]);

/** Returns the size in units of the state (`fleet/state-size.ts`). */
export function sizeOfPlan(plan: Plan): number {
  let size = 0;
  for (const { title, status, step } of plan) size += perItem + title.length + status.length + (step?.length ?? 0);
  return size;
}

const doneStatuses: ReadonlySet<string> = new Set(['done', 'completed', 'cancelled']);
export const isDone = (step: Step): boolean => doneStatuses.has(step.status);

/** Changes one step by its id, adds it at the end, or removes it if the status is `deleted`. */
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
    ...(old?.task === undefined ? {} : { task: old.task }),
  };
  return old === undefined ? [...plan, step] : plan.with(index, step);
}

/**
 * Appends the steps of a claimed task. A step id that is already in the plan is prefixed with the task (protocol.md
 * §3). If that id is taken too, the step gets no id.
 */
export function addSteps(plan: Plan, task: string, steps: Plan): Plan {
  const taken = new Set(plan.map((step) => step.step));
  const own = new Set(steps.map((step) => step.step));
  const added = steps.map(({ title, status, step }): Step => {
    const free = step === undefined || !taken.has(step) ? step : freeId(`${task}/${step}`, taken, own);
    taken.add(free);
    return free === undefined ? { title, status, task } : { title, status, step: free, task };
  });
  return [...plan, ...added];
}

const freeId = (id: string, ...taken: readonly ReadonlySet<string | undefined>[]): string | undefined =>
  taken.some((ids) => ids.has(id)) ? undefined : id;

/** Replaces the steps of a held task, at the position of its first one. */
export function replaceSteps(plan: Plan, task: string, steps: Plan): Plan {
  const index = plan.findIndex((step) => step.task === task);
  const others = plan.filter((step) => step.task !== task);
  if (index < 0) return addSteps(others, task, steps);
  const added = addSteps(others, task, steps).slice(others.length);
  return others.toSpliced(index, 0, ...added);
}

/**
 * Replaces the agent's own steps (protocol.md §3). The steps of held tasks stay behind them. A step in `list` with the
 * id of a task's step updates that step.
 */
export function replaceOwnSteps(plan: Plan, list: Plan): Plan {
  const taskSteps = plan.filter((step) => step.task !== undefined);
  if (taskSteps.length === 0) return list;
  const own: Step[] = [];
  for (const step of list) {
    const index = step.step === undefined ? -1 : taskSteps.findIndex((known) => known.step === step.step);
    const known = taskSteps[index];
    if (known === undefined) own.push(step);
    else taskSteps[index] = { ...known, title: step.title, status: step.status };
  }
  return [...own, ...taskSteps];
}

/** Removes the steps of these tasks. */
export function removeSteps(plan: Plan, tasks: readonly string[]): Plan {
  const isOf = ({ task }: Step) => task !== undefined && tasks.includes(task);
  return plan.some(isOf) ? plan.filter((step) => !isOf(step)) : plan;
}

/** Returns the steps of a held task in its worker's plan. */
export const stepsOf = (plan: Plan, task: string): Plan => plan.filter((step) => step.task === task);

/**
 * Returns the steps of a released task with the ids that they had before the claim.
 * @param before the task's plan at the claim
 */
export function returnSteps(before: Plan, task: string, steps: Plan): Plan {
  const own = new Set(before.map((step) => step.step));
  const prefix = `${task}/`;
  // Both lists are in the same order.
  let next = 0;
  const find = (isWanted: (step: Step) => boolean): Step | undefined => {
    for (let index = next; index < before.length; index += 1) {
      const found = before[index] as Step;
      if (!isWanted(found)) continue;
      next = index + 1;
      return found;
    }
    return undefined;
  };
  // Entries cannot change a step without an id, so such a step still equals the one at the claim.
  const haveLostIds = withoutId(steps) > withoutId(before);
  return steps.map(({ title, status, step }): Step => {
    if (step === undefined) {
      const known = haveLostIds ? find((old) => old.title === title && old.status === status) : undefined;
      return known ?? { title, status };
    }
    const isRenamed = !own.has(step) && step.startsWith(prefix) && own.has(step.slice(prefix.length));
    const id = isRenamed ? step.slice(prefix.length) : step;
    find((old) => old.step === id);
    return { title, status, step: id };
  });
}

const withoutId = (plan: Plan): number => plan.filter((step) => step.step === undefined).length;

const shownTitlesMax = 3;
const shownTitleLength = 30;

/** Shortens a title to its first 30 code points, for texts of decisions. */
export const shortTitle = (title: string): string => [...title].slice(0, shownTitleLength).join('');

/** Returns the fixed text of protocol.md §5 with at most three titles, or null if no step remains. */
export function remainingStepsMessage(plan: Plan): string | null {
  const open = plan.filter((step) => !isDone(step));
  if (open.length === 0) return null;
  const titles = open.slice(0, shownTitlesMax).map((step) => shortTitle(step.title));
  if (open.length > shownTitlesMax) titles.push('…');
  return `${open.length} of ${plan.length} plan steps remain: ${titles.join(', ')}`;
}

/** A worker's plan: its steps in order, and how entries change it (protocol.md §3; seed 002). No zod: light rooms use it. */
import { perItem } from '../values/fields.ts';

export const planStepsMax = 500;

/** `step`: its id. `task`: the held task that it belongs to. */
export type Step = {
  readonly title: string;
  readonly status: string;
  readonly step?: string | undefined;
  readonly task?: string | undefined;
};
export type Plan = readonly Step[];

export const noPlan: Plan = Object.freeze([]);

/** Its size in units of the state. */
export function sizeOfPlan(plan: Plan): number {
  let size = 0;
  for (const { title, status, step } of plan) size += perItem + title.length + status.length + (step?.length ?? 0);
  return size;
}

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
    ...(old?.task === undefined ? {} : { task: old.task }),
  };
  return old === undefined ? [...plan, step] : plan.with(index, step);
}

/**
 * The plan with the steps of a task that is claimed, at the end. A step id that the plan already has gets the task in
 * front (protocol.md §3). If the plan or another step of the task has that id as well, the step has none in the plan.
 */
export function addSteps(plan: Plan, task: string, steps: Plan): Plan {
  const taken = new Set(plan.map((it) => it.step));
  const own = new Set(steps.map((it) => it.step));
  const added = steps.map(({ title, status, step }): Step => {
    const free = step === undefined || !taken.has(step) ? step : freeId(`${task}/${step}`, taken, own);
    taken.add(free);
    return free === undefined ? { title, status, task } : { title, status, step: free, task };
  });
  return [...plan, ...added];
}

const freeId = (id: string, ...taken: readonly ReadonlySet<string | undefined>[]): string | undefined =>
  taken.some((ids) => ids.has(id)) ? undefined : id;

/** The plan with other steps of a held task, where its first one was. */
export function replaceSteps(plan: Plan, task: string, steps: Plan): Plan {
  const index = plan.findIndex((it) => it.task === task);
  const others = plan.filter((it) => it.task !== task);
  if (index < 0) return addSteps(others, task, steps);
  const added = addSteps(others, task, steps).slice(others.length);
  return others.toSpliced(index, 0, ...added);
}

/**
 * The plan with another list of the agent's own (protocol.md §3). The steps of held tasks stay behind it. A step of the
 * list with the id of a task's step is that step, and sets its title and status.
 */
export function replaceOwnSteps(plan: Plan, list: Plan): Plan {
  const ofTasks = plan.filter((it) => it.task !== undefined);
  if (ofTasks.length === 0) return list;
  const own: Step[] = [];
  for (const step of list) {
    const index = step.step === undefined ? -1 : ofTasks.findIndex((it) => it.step === step.step);
    const known = ofTasks[index];
    if (known === undefined) own.push(step);
    else ofTasks[index] = { ...known, title: step.title, status: step.status };
  }
  return [...own, ...ofTasks];
}

/** The plan without the steps of these tasks. */
export function removeSteps(plan: Plan, tasks: readonly string[]): Plan {
  const isOf = ({ task }: Step) => task !== undefined && tasks.includes(task);
  return plan.some(isOf) ? plan.filter((it) => !isOf(it)) : plan;
}

/** The steps of a held task as its worker has them. */
export const stepsOf = (plan: Plan, task: string): Plan => plan.filter((it) => it.task === task);

/**
 * The steps of a task that is let go of, under the ids that they had before the claim.
 * @param before the task's plan at the claim
 */
export function returnSteps(before: Plan, task: string, steps: Plan): Plan {
  const own = new Set(before.map((it) => it.step));
  const prefix = `${task}/`;
  // Both lists have one order.
  let next = 0;
  const find = (isIt: (step: Step) => boolean): Step | undefined => {
    for (let index = next; index < before.length; index += 1) {
      const found = before[index] as Step;
      if (!isIt(found)) continue;
      next = index + 1;
      return found;
    }
    return undefined;
  };
  // No entry can name a step without an id, so it is as it was at the claim.
  const haveLostIds = withoutId(steps) > withoutId(before);
  return steps.map(({ title, status, step }): Step => {
    if (step === undefined) {
      const known = haveLostIds ? find((it) => it.title === title && it.status === status) : undefined;
      return known ?? { title, status };
    }
    const isRenamed = !own.has(step) && step.startsWith(prefix) && own.has(step.slice(prefix.length));
    const id = isRenamed ? step.slice(prefix.length) : step;
    find((it) => it.step === id);
    return { title, status, step: id };
  });
}

const withoutId = (plan: Plan): number => plan.filter((it) => it.step === undefined).length;

const shownTitlesMax = 3;
const shownTitleLength = 30;

/** Shortens a title as texts of a decision do: to its first 30 code points. */
export const shortTitle = (title: string): string => [...title].slice(0, shownTitleLength).join('');

/** Returns the fixed text of protocol.md §5, with three titles of 30 code points at most; null if nothing remains. */
export function remainingStepsMessage(plan: Plan): string | null {
  const open = plan.filter((step) => !isDone(step));
  if (open.length === 0) return null;
  const titles = open.slice(0, shownTitlesMax).map((step) => shortTitle(step.title));
  if (open.length > shownTitlesMax) titles.push('…');
  return `${open.length} of ${plan.length} plan steps remain: ${titles.join(', ')}`;
}

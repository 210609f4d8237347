/** An agent's plan as entries that fit the size limit: the whole list, or one step. */
import { z } from 'zod';
import { isDone, planStepsMax, type Step } from '../../../machines/policy/plan.ts';
import { firstChars, toId } from './text.ts';

/** The rest of an entry of 64 KiB is left to its envelope. */
const planBytesMax = 60 * 1024;
/** Decisions quote 30 characters of a title at most. Longer titles are kept as long as they fit the entry. */
const titleLengths = [200, 60, 30, 10, 5] as const;
const titleMax = 200;
const statusMax = 40;

export type PlanChange =
  | { readonly type: 'plan.updated'; readonly data: { readonly steps: readonly Step[] } }
  | { readonly type: 'step.updated'; readonly data: { step: string; title?: string; status?: string } };

/**
 * Drafts a whole plan. If it has too many steps, the completed ones are dropped first: a dropped step must never make a
 * plan look complete.
 */
export function wholePlan(given: readonly Step[]): PlanChange {
  const steps = given.map((step) => ({ ...step, status: firstChars(step.status, statusMax) }));
  const room = planStepsMax - steps.filter((step) => !isDone(step)).length;
  let doneKept = 0;
  const kept = steps.length <= planStepsMax ? steps : steps.filter((step) => !isDone(step) || ++doneKept <= room);
  const forms = titleLengths.map((max) => () => withTitles(kept.slice(0, planStepsMax), max));
  const fits = (form: () => readonly Step[]) => Buffer.byteLength(JSON.stringify(form())) <= planBytesMax;
  const form = forms.find(fits) ?? (forms.at(-1) as () => readonly Step[]);
  return { type: 'plan.updated', data: { steps: form() } };
}

/** A list as agents' plan tools write it; `title`: the key of a step's title. Null: it is of another shape. */
export function readPlan(list: unknown, title: string): PlanChange | null {
  const read = z.array(z.object({ [title]: z.string(), status: z.string() })).safeParse(list);
  if (!read.success) return null;
  return wholePlan(read.data.map((step) => ({ title: String(step[title]), status: String(step.status) })));
}

const withTitles = (steps: readonly Step[], max: number): readonly Step[] =>
  steps.map((step) => ({ ...step, title: firstChars(step.title, max) }));

/** `id`: the agent's own id of the step. */
export function oneStep(id: string, { title, status }: { title?: string | undefined; status?: string | undefined }) {
  const change = {
    ...(title === undefined ? {} : { title: firstChars(title, titleMax) }),
    ...(status === undefined ? {} : { status: firstChars(status, statusMax) }),
  };
  return { type: 'step.updated', data: { step: toId(id), ...change } } as const satisfies PlanChange;
}

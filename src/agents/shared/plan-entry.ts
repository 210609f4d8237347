/** Converts an agent's plan, or a change of one step, to entries that fit the size limit. */
import { isDone, planStepsMax, type Step } from '../../../machines/policy/plan.ts';
import { tryJson } from '../../text/json-text.ts';
import type { EntryDraft } from './entry-drafts.ts';
import { firstChars, toId } from './text.ts';

/** Limit for the steps. The rest of an entry (64 KiB) is left to its envelope. */
const planBytesMax = 60 * 1024;
/** Lengths to try until the plan fits. Decisions quote at most 30 characters of a title. */
const titleLengths = [200, 60, 30, 10];
/** The plan always fits with titles of this length. */
const shortestTitle = 5;
const titleMax = 200;
const statusMax = 40;

export type PlanChange =
  | { readonly type: 'plan.updated'; readonly data: { readonly steps: readonly Step[] } }
  | { readonly type: 'step.updated'; readonly data: { step: string; title?: string; status?: string } };

/** Returned for a plan change in an unknown form. The plan is left unchanged. */
export const unread = Symbol('unread');

/** Adds a note to the tool's entry that explains why the plan is outdated. The service also counts and logs it. */
export const withUnreadPlan = (use: EntryDraft): EntryDraft => ({
  ...use,
  data: { ...use.data, note: 'the plan is unknown: this change could not be read' },
  unread: 'plan',
});

/**
 * Drafts a whole plan. If it has too many steps, completed ones are dropped first, so that a plan never looks complete
 * because of a dropped step.
 */
export function planUpdate(allSteps: readonly Step[]): PlanChange {
  const steps = allSteps.map((step) => ({ ...step, status: firstChars(step.status, statusMax) }));
  const room = planStepsMax - steps.filter((step) => !isDone(step)).length;
  let doneKept = 0;
  const kept = steps.length <= planStepsMax ? steps : steps.filter((step) => !isDone(step) || ++doneKept <= room);
  const withTitlesOf = (max: number) => withTitles(kept.slice(0, planStepsMax), max);
  const fits = (max: number) => Buffer.byteLength(JSON.stringify(withTitlesOf(max))) <= planBytesMax;
  return { type: 'plan.updated', data: { steps: withTitlesOf(titleLengths.find(fits) ?? shortestTitle) } };
}

/**
 * Reads the list that an agent's plan tool writes. Malformed items are kept: without a status they are `pending`,
 * without a title they are named by id or index. Returns null if `list` is not a list.
 * @param title the key of a step's title
 */
export function readPlan(list: unknown, title: string): PlanChange | null {
  const items = itemsOf(list);
  return items === null
    ? null
    : planUpdate(items.slice(0, itemsMax).map((item, index) => readStep(item, title, index)));
}

/** Models also write a list as a JSON string, or as an object keyed by numbers or ids. */
function itemsOf(list: unknown): readonly unknown[] | null {
  const parsed = typeof list === 'string' ? tryJson(list) : list;
  // Some models encode the JSON string twice.
  const value = typeof parsed === 'string' ? tryJson(parsed) : parsed;
  if (Array.isArray(value)) return value;
  const wrapped = listKeys.map((key) => (value as Readonly<Record<string, unknown>> | null)?.[key]).find(Array.isArray);
  if (wrapped !== undefined) return wrapped;
  const values = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return values.length > 0 && values.every((item) => typeof item === 'object' && item !== null) ? values : null;
}

/** Keys under which an object may wrap the list. */
const listKeys = ['todos', 'steps', 'plan', 'items', 'tasks'];

/** Further items are ignored. No plan is that long. */
const itemsMax = 10_000;
/** Other keys under which agents put a step's title. */
const titleKeys = ['title', 'content', 'description', 'subject', 'step', 'text', 'name', 'activeForm'];

export function readStep(item: unknown, title: string, index: number): Step {
  const fields = (typeof item === 'object' && item !== null ? item : { [title]: item }) as Readonly<
    Record<string, unknown>
  >;
  const id = textOf(fields.id) ?? textOf(fields.taskId);
  const named = [title, ...titleKeys].map((key) => textOf(fields[key])).find((value) => value !== undefined);
  const status = textOf(fields.status) ?? 'pending';
  return { title: named ?? id ?? `step ${index + 1}`, status };
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : typeof value === 'number' ? String(value) : undefined;

const withTitles = (steps: readonly Step[], max: number): readonly Step[] =>
  steps.map((step) => ({ ...step, title: firstChars(step.title, max) }));

/** Drafts a change of one step. @param id the agent's id of the step */
export function stepUpdate(id: string, { title, status }: { title?: string | undefined; status?: string | undefined }) {
  const change = {
    ...(title === undefined ? {} : { title: firstChars(title, titleMax) }),
    ...(status === undefined ? {} : { status: firstChars(status, statusMax) }),
  };
  return { type: 'step.updated', data: { step: toId(id), ...change } } as const satisfies PlanChange;
}

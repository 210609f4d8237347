/** An agent's plan as entries that fit the size limit: the whole list, or one step. */
import { isDone, planStepsMax, type Step } from '../../../machines/policy/plan.ts';
import { tryJson } from '../../text/json-text.ts';
import type { EntryDraft } from './entry-drafts.ts';
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

/** A plan tool has changed the plan in a form that cannot be read. The plan stays as it was. */
export const unread = Symbol('unread');

/**
 * Says so in the tool's entry, for whoever looks why the plan is old. The log keeps fields that it does not know. The
 * service counts and logs it too.
 */
export const withUnreadPlan = (use: EntryDraft): EntryDraft => ({
  ...use,
  data: { ...use.data, note: 'the plan is unknown: this change of it could not be read' },
  unread: 'plan',
});

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

/**
 * A list as agents' plan tools write it; `title`: the key of a step's title. Each item is read by itself, and one that is
 * odd loses only what is odd about it: without a status it is `pending`, without a title it has its id, or its place in the
 * list. Null: it is no list.
 */
export function readPlan(list: unknown, title: string): PlanChange | null {
  const items = itemsOf(list);
  return items === null ? null : wholePlan(items.slice(0, itemsMax).map((item, index) => readStep(item, title, index)));
}

/** Models also write a list as a text of JSON, or as an object whose keys are numbers or ids. */
function itemsOf(list: unknown): readonly unknown[] | null {
  const once = typeof list === 'string' ? tryJson(list) : list;
  const given = typeof once === 'string' ? tryJson(once) : once;
  if (Array.isArray(given)) return given;
  const wrapped = listKeys.map((key) => (given as Readonly<Record<string, unknown>> | null)?.[key]).find(Array.isArray);
  if (wrapped !== undefined) return wrapped;
  const values = typeof given === 'object' && given !== null ? Object.values(given) : [];
  return values.length > 0 && values.every((it) => typeof it === 'object' && it !== null) ? values : null;
}

/** A list may be wrapped into an object of one of these. */
const listKeys = ['todos', 'steps', 'plan', 'items', 'tasks'];

/** More items are not looked at: that many steps are never done. */
const itemsMax = 10_000;
/** Names that agents have for the title of a step, if it has not the usual one. */
const titleKeys = ['title', 'content', 'description', 'subject', 'step', 'text', 'name', 'activeForm'];

export function readStep(item: unknown, title: string, index: number): Step {
  const fields = (typeof item === 'object' && item !== null ? item : { [title]: item }) as Readonly<
    Record<string, unknown>
  >;
  const id = textOf(fields.id) ?? textOf(fields.taskId);
  const named = [title, ...titleKeys].map((key) => textOf(fields[key])).find((it) => it !== undefined);
  const status = textOf(fields.status) ?? 'pending';
  return { title: named ?? id ?? `step ${index + 1}`, status };
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : typeof value === 'number' ? String(value) : undefined;

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

/** `plan: {}`: every step of the worker's plan is done. `plan: { required: true }`: and it has steps. */
import { z } from 'zod';
import { isDone, type Plan } from '../plan.ts';
import { type CheckForm, type CheckKind, findingFor } from './check.ts';

const shownTitlesMax = 3;
const shownTitleLength = 30;

export const planCheck: CheckKind<'plan'> = {
  form: (object) =>
    object({ required: z.boolean().optional().describe('an empty plan fails') })
      .nullable()
      .optional()
      .describe('every step of the plan is done'),
  // `plan:` with nothing behind it is null.
  normalize: (value: CheckForm['plan']) => ({ kind: 'plan', required: value?.required ?? false }),
  evaluate: (check, { facts: { plan } }) =>
    findingFor(check, check.required && plan.length === 0 ? 'No plan yet' : remainingStepsMessage(plan)),
};

/** Null: nothing remains. Else the fixed text of protocol.md §5, with three titles of 30 code points at most. */
export function remainingStepsMessage(plan: Plan): string | null {
  const open = plan.filter((step) => !isDone(step));
  if (open.length === 0) return null;
  const titles = open.slice(0, shownTitlesMax).map((step) => [...step.title].slice(0, shownTitleLength).join(''));
  if (open.length > shownTitlesMax) titles.push('…');
  return `${open.length} of ${plan.length} plan steps remain: ${titles.join(', ')}`;
}

/** Suggested prompts: the last prompt, the next step, and another approach if the same failure repeats. */
import type { WorkerView } from '../../../../machines/index.ts';
import { visible } from '../../visible-text.ts';

const isOpen = ({ status }: { status: string }) => !['done', 'completed', 'cancelled'].includes(status);
const charsMax = 400;
const decide = 'Decide yourself: take the simplest option, note why, and continue.';

export function suggestPrompts({ plan, lastDecision, escalation }: WorkerView): string[] {
  const step = plan.find(isOpen);
  const finding = lastDecision?.feedback[0];
  const prompts = [
    lastDecision?.nextPrompt,
    escalation?.cause === 'stuck' && finding !== undefined
      ? `Your last attempts failed the same way (${finding.check}). Stop, explain the cause in two sentences, then try another approach.`
      : null,
    step === undefined ? null : `Continue with the next step of the plan: ${step.title}`,
    lastDecision?.action === 'escalate' ? decide : null,
  ];
  return [
    ...new Set(
      prompts
        .filter((prompt): prompt is string => prompt != null && prompt.trim() !== '')
        .map((prompt) => prompt.slice(0, charsMax)),
    ),
  ];
}

/** Suggests prompts for several workers: those that all have in common, then general ones. */
export function suggestForMany(views: readonly WorkerView[]): string[] {
  const each = views.map(suggestPrompts);
  const common = (each[0] ?? []).filter((prompt) => each.every((prompts) => prompts.includes(prompt)));
  const every = (fits: (view: WorkerView) => boolean) => views.length > 0 && views.every(fits);
  return [
    ...new Set([
      ...common,
      ...(every(({ escalation }) => escalation?.cause === 'stuck')
        ? [
            'Your last attempts failed the same way. Stop, explain the cause in two sentences, then try another approach.',
          ]
        : []),
      ...(every(({ plan }) => plan.some(isOpen)) ? ['Continue with the next open step of your plan.'] : []),
      decide,
    ]),
  ];
}

/** Maximum number of names in a text. More would fill a dialog on a phone. */
const namesMax = 12;

export function namesOf(ids: readonly string[]): string {
  const names = ids.slice(0, namesMax).map((id) => visible(id));
  return ids.length > namesMax ? `${names.join(', ')} and ${ids.length - namesMax} more` : names.join(', ');
}

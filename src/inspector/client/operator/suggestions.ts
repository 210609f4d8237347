/**
 * Suggested prompts. A question gets none that decides it; otherwise the last prompt, the next step, or another
 * approach.
 */
import type { WorkerView } from '../../../../machines/index.ts';
import { visible } from '../../visible-text.ts';

const isOpen = ({ status }: { status: string }) => !['done', 'completed', 'cancelled'].includes(status);
const charsMax = 400;
const otherApproach = 'Stop, explain the cause in two sentences, then try another approach.';
/**
 * The only answer suggested to a question, because it does no harm, whatever was asked. To decide it, or to continue
 * with the step that it asks about, may be what it should not do.
 */
const leaveOpen =
  'Do not decide this yourself. Continue with the work that does not depend on it, and list the options with their risks.';

/** Causes of escalations in which the agent's work was judged, so that it may continue with it. */
const failures: ReadonlySet<string> = new Set(['capped', 'stuck', 'unjudged', 'budget', 'stale']);

export function suggestPrompts({ plan, lastDecision, escalation }: WorkerView): string[] {
  if (escalation === null || !failures.has(escalation.cause)) return escalation === null ? [] : [leaveOpen];
  const step = plan.find(isOpen);
  const check = lastDecision?.feedback[0]?.check;
  const prompts = [
    lastDecision?.nextPrompt,
    escalation.cause === 'stuck' && check !== undefined
      ? `Your last attempts failed the same way (${check}). ${otherApproach}`
      : null,
    escalation.cause === 'capped' && check !== undefined
      ? `Continue until ${check} passes. If it cannot pass, say why in two sentences.`
      : null,
    step === undefined ? null : `Continue with the next step of the plan: ${step.title}`,
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
  const isEvery = (fits: (view: WorkerView) => boolean) => views.length > 0 && views.every(fits);
  const haveFailed = isEvery(({ escalation }) => failures.has(escalation?.cause ?? ''));
  return [
    ...new Set([
      ...common,
      ...(isEvery(({ escalation }) => escalation?.cause === 'stuck')
        ? [`Your last attempts failed the same way. ${otherApproach}`]
        : []),
      ...(haveFailed && isEvery(({ plan }) => plan.some(isOpen))
        ? ['Continue with the next open step of your plan.']
        : []),
    ]),
  ];
}

/** Maximum number of names in a text. More would fill a dialog on a phone. */
const namesMax = 12;

export function namesOf(ids: readonly string[]): string {
  const names = ids.slice(0, namesMax).map((id) => visible(id));
  return ids.length > namesMax ? `${names.join(', ')} and ${ids.length - namesMax} more` : names.join(', ');
}

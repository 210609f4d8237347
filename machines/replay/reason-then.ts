/**
 * Rewrites reasons that were true when they were given: the worker may have come back since, and the budget may have
 * been raised. Lists show reasons for hours, so they say "was".
 */
import type { Escalation } from '../values/escalation.ts';

const stale = /^Worker (\S+) is stale and holds (.+)$/;
const budget =
  /^((?:The (?:session|prompt|task)'s|The fleet's) budget(?: of the day)?|The budget(?: of task \S+)?) is used up( \(.+\))?: (.+)$/;

/** Returns the reason of a decision or an escalation as it reads later. An agent's own words stay unchanged. */
export function reasonThen({ cause, reason }: Pick<Escalation, 'cause' | 'reason'>): string {
  if (cause === 'stale') return reason.replace(stale, 'Worker $1 fell silent while it held $2');
  if (cause !== 'budget' && cause !== 'bypassed') return reason;
  return reason.replace(
    budget,
    (_, whose: string, amounts: string | undefined, then: string) =>
      `${whose} was used up${amounts ?? ''}: ${then.replace('is not judged', 'was not judged')}`,
  );
}

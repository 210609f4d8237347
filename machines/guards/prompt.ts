import type { Feedback } from '../policy/checks/check-result.ts';
import { feedbackLengthMax, reasonLengthMax } from '../values/limits.ts';
import { cutMiddle } from '../values/text.ts';

/** Writes the next prompt of a block: the reason, and the details of the feedback. */
export function promptFor(reason: string, feedback: readonly Feedback[]): string {
  const found = feedback.map(({ details }) => describe(details)).filter((text) => text !== '');
  const head = `Not done yet: ${cutMiddle(reason, reasonLengthMax)}. Finish what remains, then stop again.`;
  if (found.length === 0) return head;
  return `${head}\n\n${cutMiddle(found.join('\n'), feedbackLengthMax)}`;
}

function describe(details: unknown): string {
  if (typeof details === 'string') return details;
  return isEmpty(details) ? '' : JSON.stringify(details, null, 1);
}

const isEmpty = (details: unknown) =>
  details === null || details === undefined || (typeof details === 'object' && Object.keys(details).length === 0);

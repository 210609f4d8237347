/** The texts that agents and people get for a decision, and the check for a block text that comes back as a prompt. */
import type { Decision } from '../../../machines/index.ts';
import { unjudgedText } from '../../hook-command/agent.ts';
import { hideSecrets } from './secrets.ts';
import { cutMiddle, plainText } from './text.ts';
import { isOverBudget } from './unsolicited-checks.ts';

/** The fields of a decision whose text an agent may send back to us as a prompt. */
export type DecisionText = Pick<Decision, 'decision' | 'reason' | 'nextPrompt'>;
/** The fields of a decision that answers are built from. */
export type AnswerableDecision = DecisionText &
  Pick<Decision, 'action'> &
  Partial<Pick<Decision, 'cause' | 'verdicts' | 'feedback'>>;

/** Agents read at most 2,000 characters, including a prefix that they add. */
const blockCharsMax = 1_960;
/** Limit for reasons quoted in a notice to a person. */
const noticeCharsMax = 500;
/** Agents put one of these before a block text when they pass it to the model. */
const feedbackPrefixes = [
  'Stop hook feedback:',
  'SubagentStop hook feedback:',
  'TaskCompleted hook feedback:',
  '<hook_prompt ',
];

const completeText = 'stopgate: every check passes; the work is complete.';

/** Tells an agent why it is stopped after a tool: complete work (`stopWhenComplete`) or a used-up budget. */
export function stopText({ cause, reason }: AnswerableDecision): string {
  if (cause === undefined || !isOverBudget(cause)) return completeText;
  return `stopgate: ${cutMiddle(hideSecrets(plainText(reason)), noticeCharsMax)}.`;
}

/** Never empty: given an empty text, some agents ignore the block and others invent a reason. */
export function blockText({ reason, nextPrompt }: Pick<DecisionText, 'reason' | 'nextPrompt'>): string {
  const text = plainText(nextPrompt ?? '') || plainText(reason) || 'The work is not complete yet.';
  return cutMiddle(hideSecrets(text), blockCharsMax);
}

/** Tells a working agent what a check found missing after its tools (`stopWhenComplete`). */
export const findingsText = (decision: AnswerableDecision): string =>
  `stopgate has checked the work after these tools. ${blockText(decision)}`;

/** The answer for agents that read exactly `decision` and `reason`. Null if the decision is not a block. */
export const blockAnswer = (decision: AnswerableDecision): object | null =>
  decision.decision === 'block' ? { decision: 'block', reason: blockText(decision) } : null;

/**
 * Tells the person why an escalated session stops, that a stop was not judged, or which checks warn. For agents that
 * show `systemMessage`. Null if there is nothing to say.
 */
export function allowNotice(call: { readonly worker: string }, decision: AnswerableDecision): object | null {
  const text = noticeText(call, decision);
  return text === null ? null : { systemMessage: text };
}

/**
 * Like `allowNotice`, for agents without `systemMessage`: the hook command and the plugin remove `note` and report it.
 */
export function allowNote(call: { readonly worker: string }, decision: AnswerableDecision): object | null {
  const text = noticeText(call, decision);
  return text === null ? null : { note: text };
}

function noticeText({ worker }: { readonly worker: string }, decision: AnswerableDecision): string | null {
  if (decision.decision !== 'allow') return null;
  if (decision.cause === 'unjudged') {
    const what = `this stop was not judged (cause unjudged): ${unjudgedReason(decision)}`;
    return `stopgate: ${what}. It is allowed, but its task is not completed.`;
  }
  if (decision.action !== 'escalate') return warningText(decision);
  const why = cutMiddle(hideSecrets(plainText(decision.reason)), noticeCharsMax);
  const command = `stopgate resolve ${worker} --resume --prompt "…"`;
  return `stopgate: this session waits for a person: ${why}. When that is settled: ${command}`;
}

/** Lists the failures of checks that only warn (`onFail: warn`). Null if there are none. */
function warningText({ feedback = [] }: Pick<AnswerableDecision, 'feedback'>): string | null {
  const warnings = feedback
    .filter(({ outcome }) => outcome === 'warn')
    .map(({ check, message }) => `${check}: ${message}`);
  if (warnings.length === 0) return null;
  const found = cutMiddle(hideSecrets(plainText(warnings.join('; '))), noticeCharsMax);
  return `stopgate: allowed, with ${warnings.length === 1 ? 'a warning' : `${warnings.length} warnings`}: ${found}`;
}

/** Says which error of a check or hook left the stop unjudged. */
function unjudgedReason({ verdicts, reason }: Pick<AnswerableDecision, 'verdicts' | 'reason'>): string {
  const error = verdicts?.find(({ verdict }) => verdict === 'error');
  return cutMiddle(hideSecrets(plainText(error?.detail ?? reason)), noticeCharsMax);
}

/** Refuses a step because a check could not be judged, not because one failed (`steps: gate`). */
export function unjudgedStepText(decision: AnswerableDecision): string {
  const request = 'Do not work around this: tell the user, or leave the step open.';
  return `The step is not marked as done, since a check could not be judged: ${unjudgedReason(decision)}. ${request}`;
}

/** Passes a person's answer to an escalation on to the agent. */
export function resolutionText(prompt: string): string {
  return `A person has looked at this session's escalation and says: ${cutMiddle(plainText(prompt), blockCharsMax - 100)}`;
}

/**
 * True if the prompt is our last block text, sent back by the agent. A person's prompt resets the retry count, so
 * taking the block for one would repeat it forever. A prompt that quotes our text but is mostly somebody's own counts
 * as theirs.
 */
export function isOwnBlock(prompt: string, last: DecisionText | null): boolean {
  const text = plainText(prompt);
  const hasPrefix = feedbackPrefixes.some((prefix) => text.startsWith(prefix));
  // The hook command's own block text, which belongs to no decision.
  if (text.startsWith(unjudgedText) || (hasPrefix && text.includes(unjudgedText))) return true;
  if (last?.decision !== 'block') return false;
  return [last.reason, last.nextPrompt ?? '', blockText(last)].some((candidate) => {
    const ours = plainText(candidate);
    if (ours === '' || !text.includes(ours)) return false;
    return hasPrefix || ours.length * 2 >= text.length;
  });
}

/** The text of a block: what an agent is told, and how that text is recognised when it comes back as a prompt. */
import type { Decision } from '../../../machines/index.ts';
import { unjudgedText } from '../../hook-command/agent.ts';
import { hideSecrets } from './secrets.ts';
import { cutMiddle, plainText } from './text.ts';
import { isOverBudget } from './unsolicited-checks.ts';

/** The part of a decision that an agent may repeat. */
export type DecisionText = Pick<Decision, 'decision' | 'reason' | 'nextPrompt'>;
/** The part of a decision that an answer is made of. */
export type AnswerableDecision = DecisionText &
  Pick<Decision, 'action'> &
  Partial<Pick<Decision, 'cause' | 'verdicts' | 'feedback'>>;

/** An agent reads 2,000 at most, and a prefix may precede this. Enough for our text and a command's last lines. */
const blockCharsMax = 1_960;
/** In a notice to a person. */
const noticeCharsMax = 500;
/** Agents put these before a block when they pass it on. Anything may follow: a command line, a tag. */
const feedbackPrefixes = [
  'Stop hook feedback:',
  'SubagentStop hook feedback:',
  'TaskCompleted hook feedback:',
  '<hook_prompt ',
];

const completeText = 'stopgate: every check holds, the work is complete.';

/** For an agent that is stopped after a tool: its work is complete (`stopWhenComplete`), or its budget is used up. */
export function stopText({ cause, reason }: AnswerableDecision): string {
  if (cause === undefined || !isOverBudget(cause)) return completeText;
  return `stopgate: ${cutMiddle(hideSecrets(plainText(reason)), noticeCharsMax)}.`;
}

/** Never empty: some agents ignore a block without text, others make up a text of their own. */
export function blockText({ reason, nextPrompt }: Pick<DecisionText, 'reason' | 'nextPrompt'>): string {
  const text = plainText(nextPrompt ?? '') || plainText(reason) || 'The work is not complete yet.';
  return cutMiddle(hideSecrets(text), blockCharsMax);
}

/** For an agent that works on, after its tools: what a check has found to be missing (`stopWhenComplete`). */
export const differenceText = (decision: AnswerableDecision): string =>
  `stopgate has checked the work after these tools. ${blockText(decision)}`;

/** For agents that read `decision` and `reason`, and no other key. Null: it is no block. */
export const blockAnswer = (decision: AnswerableDecision): object | null =>
  decision.decision === 'block' ? { decision: 'block', reason: blockText(decision) } : null;

/** For agents that show a hook's `systemMessage` to the person: why an escalated session stops, or nothing was judged. */
export function allowNotice(call: { readonly worker: string }, decision: AnswerableDecision): object | null {
  const text = noticeText(call, decision);
  return text === null ? null : { systemMessage: text };
}

/**
 * Makes that answer for agents whose hooks have no such key: the hook command and the plugin take `note` out and report
 * it.
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

/** Returns what checks found that blocks nobody (`onFail: warn`); null if nothing. */
function warningText({ feedback = [] }: Pick<AnswerableDecision, 'feedback'>): string | null {
  const warnings = feedback
    .filter(({ outcome }) => outcome === 'warn')
    .map(({ check, message }) => `${check}: ${message}`);
  if (warnings.length === 0) return null;
  const found = cutMiddle(hideSecrets(plainText(warnings.join('; '))), noticeCharsMax);
  return `stopgate: allowed, with ${warnings.length === 1 ? 'a warning' : `${warnings.length} warnings`}: ${found}`;
}

/** Says why nothing was judged: what was wrong with the check or hook. */
function unjudgedReason({ verdicts, reason }: Pick<AnswerableDecision, 'verdicts' | 'reason'>): string {
  const inError = verdicts?.find(({ verdict }) => verdict === 'error');
  return cutMiddle(hideSecrets(plainText(inError?.detail ?? reason)), noticeCharsMax);
}

/** For an agent whose step is refused, though no check has failed (`steps: gate`). */
export function unjudgedStepText(decision: AnswerableDecision): string {
  const request = 'Do not work around this: tell the user, or leave the step open.';
  return `The step is not marked as done, since a check could not be judged: ${unjudgedReason(decision)}. ${request}`;
}

/** A person's answer to an escalation. */
export function resolutionText(prompt: string): string {
  return `A person has looked at this session's escalation and says: ${cutMiddle(plainText(prompt), blockCharsMax - 100)}`;
}

/**
 * Is this prompt only our last block? Then no person has spoken. Taking it for a person's prompt would reset the retry
 * count each time, and the block would never end. If our text is only quoted, in a prompt that is mostly somebody's own
 * text, then a person has spoken.
 */
export function isOwnBlock(prompt: string, last: DecisionText | null): boolean {
  const text = plainText(prompt);
  const hasPrefix = feedbackPrefixes.some((prefix) => text.startsWith(prefix));
  // The hook command's own block, which belongs to no decision.
  if (text.startsWith(unjudgedText) || (hasPrefix && text.includes(unjudgedText))) return true;
  if (last?.decision !== 'block') return false;
  return [last.reason, last.nextPrompt ?? '', blockText(last)].some((candidate) => {
    const ours = plainText(candidate);
    if (ours === '' || !text.includes(ours)) return false;
    return hasPrefix || ours.length * 2 >= text.length;
  });
}

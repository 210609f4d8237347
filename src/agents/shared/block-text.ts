/** The words of a block: how they go to an agent, and how they are known again when they come back as a prompt. */
import { unjudgedWords } from '../../hook-command/agents.ts';
import type { Answerable, Told } from './adapter.ts';
import type { Caller } from './entry-drafts.ts';
import { hideSecrets } from './secrets.ts';
import { cutMiddle, plainText } from './text.ts';

/** An agent reads 2,000 at most: a lead may stand before these. Enough for the fixed words and a command's last lines. */
const blockCharsMax = 1_960;
/** Of a notice to a person. */
const whyCharsMax = 500;
/** What agents put before a block when they tell it on; after it the rest may be anything (a command line, a tag). */
const feedbackPrefixes = [
  'Stop hook feedback:',
  'SubagentStop hook feedback:',
  'TaskCompleted hook feedback:',
  '<hook_prompt ',
];

/** Said to an agent that is stopped after a tool (`stopWhenComplete`). */
export const completeWords = 'stopgate: every check holds, the work is complete.';

type Words = Pick<Told, 'reason' | 'nextPrompt'>;

/** Never empty: agents take a block without words for none, or make up their own. */
export function blockWords({ reason, nextPrompt }: Words): string {
  const words = plainText(nextPrompt ?? '') || plainText(reason) || 'The work is not complete yet.';
  return cutMiddle(hideSecrets(words), blockCharsMax);
}

/** For agents that show a hook's `systemMessage` to the person: a session that is escalated stops, and says why. */
export function waitNotice({ worker }: Caller, { action, reason }: Answerable): object | null {
  if (action !== 'escalate') return null;
  const why = cutMiddle(hideSecrets(plainText(reason)), whyCharsMax);
  const then = `stopgate resolve ${worker} --resume --prompt "…"`;
  return { systemMessage: `stopgate: this session waits for a person: ${why}. When that is settled: ${then}` };
}

/** A person's answer to an escalation. */
export function resolvedWords(prompt: string): string {
  return `A person has looked at this session's escalation and says: ${cutMiddle(plainText(prompt), blockCharsMax - 100)}`;
}

/**
 * Is this prompt nothing but our last block, come back? Then no person has spoken, and taking it for a prompt would
 * set the retry count to 0 each time: a block without end. Where the words are only quoted, in a prompt that is mostly
 * somebody's own, a person has spoken.
 */
export function isOwnBlock(prompt: string, last: Told | null): boolean {
  const text = plainText(prompt);
  const prefixed = feedbackPrefixes.some((prefix) => text.startsWith(prefix));
  // The command hook's own, of which no decision tells.
  if (text.startsWith(unjudgedWords) || (prefixed && text.includes(unjudgedWords))) return true;
  if (last?.decision !== 'block') return false;
  return [last.reason, last.nextPrompt ?? '', blockWords(last)].some((words) => {
    const ours = plainText(words);
    if (ours === '' || !text.includes(ours)) return false;
    return prefixed || ours.length * 2 >= text.length;
  });
}

/** The possible outcomes of a stop, for people: one list for the page and the outline of the log. */
import type { Decision } from '../../machines/index.ts';

export const verdictKinds = ['complete', 'let-go', 'blocked', 'escalated', 'unjudged'] as const;
export type VerdictKind = (typeof verdictKinds)[number];

export function verdictKindOf({
  decision,
  action,
  cause,
}: Pick<Decision, 'decision' | 'action' | 'cause'>): VerdictKind {
  if (action === 'escalate') return 'escalated';
  if (cause === 'unjudged') return 'unjudged';
  if (decision === 'block') return 'blocked';
  return cause === 'complete' ? 'complete' : 'let-go';
}

/**
 * Returns the kind that a decision counts as; null if it counts as nothing, since another has taken its place, or it
 * was a trial.
 */
export const countedKindOf = (decision: Decision): VerdictKind | null =>
  decision.cause === 'superseded' || decision.dryRun === true ? null : verdictKindOf(decision);

/** One list of words and colours for what may become of a stop. The colours are in styles/base.css, by `data-verdict-kind`. */
type Answer = Pick<Decision, 'decision' | 'action' | 'cause'>;
type Verdict = { readonly kind: VerdictKind; readonly word: string };

/** The words for many stops, in the order in which they are drawn, from below. */
export const verdictWords: Readonly<Record<VerdictKind, string>> = {
  complete: 'complete',
  'let-go': 'let go',
  blocked: 'blocked',
  unjudged: 'not judged',
  escalated: 'escalated',
};

/** What each of them means, as the guide says it. */
export const verdictMeanings: Readonly<Record<VerdictKind, string>> = {
  complete: 'allowed: everything that the policy asks for is done',
  'let-go': 'allowed although it was not judged complete: the cap was reached, the worker was idle for too long, …',
  blocked: 'the agent was told to continue',
  unjudged: 'allowed because a check could not be run',
  escalated: 'allowed, and a person decides how to go on',
};

/** Allowed, though its work was not judged as complete. */
const letGo: Readonly<Partial<Record<Decision['cause'], string>>> = {
  capped: 'let go: the cap is reached',
  bypassed: 'let go: bypassed',
  'idle-timeout': 'let go: idle for too long',
  'no-policy': 'let go: nothing to check',
  retired: 'let go: retired',
  limited: 'paused: usage limit',
  waiting: 'paused: waits for something',
  superseded: 'superseded',
  unknown: 'let go: the service was not reached',
};

/** Returns one word for why a worker has stopped. */
export const stopWord = (cause: string): string => letGo[cause as Decision['cause']] ?? cause;

export function verdictOf(answer: Answer): Verdict {
  const kind = verdictKindOf(answer);
  return { kind, word: kind === 'let-go' ? (letGo[answer.cause] ?? 'allowed') : verdictWords[kind] };
}

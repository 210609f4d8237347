/** The kinds of stop outcomes and their words. The page, the statistics and the outline of the log share them. */
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

/** Returns the kind that a decision counts as, or null if it does not count: superseded decisions and dry runs. */
export const countedKindOf = (decision: Decision): VerdictKind | null =>
  decision.cause === 'superseded' || decision.dryRun === true ? null : verdictKindOf(decision);

type Answer = Pick<Decision, 'decision' | 'action' | 'cause'>;
type VerdictWords = { readonly kind: VerdictKind; readonly word: string };

/** Words for each kind, in the order in which charts stack them from below. Their colours are in styles/base.css. */
export const verdictWords: Readonly<Record<VerdictKind, string>> = {
  complete: 'complete',
  'let-go': 'allowed anyway',
  blocked: 'blocked',
  unjudged: 'not judged',
  escalated: 'escalated',
};

/** Explanations for legends, as in the guide. */
export const verdictMeanings: Readonly<Record<VerdictKind, string>> = {
  complete: 'allowed: everything that the policy asks for is done',
  'let-go': 'allowed although it was not judged complete: the cap was reached, the worker was idle for too long, …',
  blocked: 'the agent was told to continue',
  unjudged: 'allowed because a check could not be run',
  escalated: 'allowed, and a person decides how to go on',
};

/** Words for stops that were allowed without being judged complete. */
const allowWords: Readonly<Partial<Record<Decision['cause'], string>>> = {
  capped: 'allowed at the cap',
  bypassed: 'allowed: bypassed',
  'idle-timeout': 'allowed: idle for too long',
  'no-policy': 'allowed: nothing to check',
  retired: 'allowed: retired',
  limited: 'paused: usage limit',
  waiting: 'paused: waits for something',
  superseded: 'superseded',
  unknown: 'allowed: the service was not reached',
};

/** Returns a short text for why a worker stopped. */
export const stopWord = (cause: string): string => allowWords[cause as Decision['cause']] ?? cause;

export function verdictOf(answer: Answer): VerdictWords {
  const kind = verdictKindOf(answer);
  return { kind, word: kind === 'let-go' ? (allowWords[answer.cause] ?? 'allowed') : verdictWords[kind] };
}

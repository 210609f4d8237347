/** One list of words and colours for what may become of a stop. The colours are in styles/states.css, by `data-verdict-kind`. */
import type { Decision } from '../../../../machines/index.ts';

type Answer = Pick<Decision, 'decision' | 'action' | 'cause'>;
export type Verdict = {
  readonly kind: 'complete' | 'let-go' | 'escalated' | 'blocked' | 'unjudged';
  readonly word: string;
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

export function verdictOf({ decision, action, cause }: Answer): Verdict {
  if (action === 'escalate') return { kind: 'escalated', word: 'escalated' };
  if (cause === 'unjudged') return { kind: 'unjudged', word: 'not judged' };
  if (decision === 'block') return { kind: 'blocked', word: 'blocked' };
  if (cause === 'complete') return { kind: 'complete', word: 'complete' };
  return { kind: 'let-go', word: letGo[cause] ?? 'allowed' };
}

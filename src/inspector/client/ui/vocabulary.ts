/** One list of words and colours for what may become of a stop. The colours are in styles/states.css, by `data-verdict-kind`. */
import type { Decision } from '../../../../machines/index.ts';
import { type VerdictKind, verdictKindOf } from '../../verdict-kind.ts';

type Answer = Pick<Decision, 'decision' | 'action' | 'cause'>;
export type Verdict = {
  readonly kind: VerdictKind;
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

const words = { complete: 'complete', blocked: 'blocked', escalated: 'escalated', unjudged: 'not judged' } as const;

export function verdictOf(answer: Answer): Verdict {
  const kind = verdictKindOf(answer);
  return { kind, word: kind === 'let-go' ? (letGo[answer.cause] ?? 'allowed') : words[kind] };
}

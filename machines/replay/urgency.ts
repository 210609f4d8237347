/** Whom a person looks at first: who waits for one, then what may come to that. In lists and on the terminal alike. */
import type { Presence, State } from '../values/states.ts';

/** First to last. */
export const urgencies = [
  'escalated',
  'asks',
  'acknowledged',
  'blocked',
  'stale',
  'unjudged',
  'validating',
  'working',
  'idle',
  'stopped',
] as const;
export type Urgency = (typeof urgencies)[number];

type Seen = {
  readonly state: State;
  readonly presence: Presence;
  readonly isAcknowledged: boolean;
  readonly asks: boolean;
  readonly holdsTask: boolean;
  /** Of its last decision. */
  readonly cause: string | null;
};

/** Idle after a stop that nothing judged: it may look done, and is not. */
export const isUnjudged = ({ state, cause }: Pick<Seen, 'state' | 'cause'>): boolean =>
  state === 'idle' && cause === 'unjudged';

export function urgencyOf(worker: Seen): Urgency {
  const { state, presence, isAcknowledged, asks, holdsTask } = worker;
  if (state === 'escalated') return isAcknowledged ? 'acknowledged' : 'escalated';
  if (state === 'stopped') return 'stopped';
  if (asks) return 'asks';
  if (state === 'blocked') return 'blocked';
  if (presence === 'stale' && holdsTask) return 'stale';
  return isUnjudged(worker) ? 'unjudged' : state;
}

/** It goes on only when a person does something. */
export const needsPerson = (urgency: Urgency): boolean =>
  urgencies.indexOf(urgency) <= urgencies.indexOf('acknowledged');

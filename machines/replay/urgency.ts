/** Ranks workers by urgency for a person, for lists and the terminal. */
import type { State, ViewedPresence } from '../values/states.ts';

/** Most urgent first. */
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

type RankedWorker = {
  readonly state: State;
  readonly presence: ViewedPresence;
  readonly isAcknowledged: boolean;
  readonly asks: boolean;
  readonly holdsTask: boolean;
  /** The cause of the last decision. */
  readonly cause: string | null;
};

/** Tells whether the worker is idle after an unjudged stop. It may look done, but need not be. */
export const isUnjudged = ({ state, cause }: Pick<RankedWorker, 'state' | 'cause'>): boolean =>
  state === 'idle' && cause === 'unjudged';

export function urgencyOf(worker: RankedWorker): Urgency {
  const { state, presence, isAcknowledged, asks, holdsTask } = worker;
  if (state === 'escalated') return isAcknowledged ? 'acknowledged' : 'escalated';
  if (state === 'stopped') return 'stopped';
  if (asks) return 'asks';
  if (state === 'blocked') return 'blocked';
  if (presence === 'stale' && holdsTask) return 'stale';
  return isUnjudged(worker) ? 'unjudged' : state;
}

/** Tells whether the worker cannot continue before a person acts. */
export const needsPerson = (urgency: Urgency): boolean =>
  urgencies.indexOf(urgency) <= urgencies.indexOf('acknowledged');

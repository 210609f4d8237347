/** The names of states. The file has no schemas, so that a page can load it alone. */

export const workerStates = ['idle', 'working', 'validating', 'blocked', 'escalated', 'stopped'] as const;
export type State = (typeof workerStates)[number];
export const presences = ['active', 'stale', 'limited'] as const;
export type Presence = (typeof presences)[number];

/** The causes of decisions (protocol.md §5). */

export const causes = [
  'retired',
  'escalated',
  'bypassed',
  'budget',
  'limited',
  'waiting',
  'capped',
  'incomplete',
  'stuck',
  'pending-tasks',
  'idle',
  'idle-timeout',
  'unjudged',
  'complete',
  'no-policy',
  'superseded',
  'unknown',
] as const;
export type Cause = (typeof causes)[number];

/**
 * The disposition of the tasks that a worker holds when its attempt ends (protocol.md §4); `dispositionOf` of
 * worker/decide.ts decides it.
 */
export type TaskDisposition = 'completed' | 'blocked' | 'escalated' | 'released' | 'held';

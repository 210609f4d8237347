/** Names of states and causes. Free of zod, so that a web page can load it alone. */

export const workerStates = ['idle', 'working', 'validating', 'blocked', 'escalated', 'stopped'] as const;
export type State = (typeof workerStates)[number];
export const presences = ['active', 'stale', 'limited'] as const;
export type Presence = (typeof presences)[number];

/** Presences as views show them. An `interrupted` worker's user has ended its turn; it does not become stale. */
export const viewedPresences = [...presences, 'interrupted'] as const;
export type ViewedPresence = (typeof viewedPresences)[number];

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
 * What becomes of a worker's tasks when its attempt ends (protocol.md §4). Decided by `dispositionOf` in
 * worker/decide.ts.
 */
export type TaskDisposition = 'completed' | 'blocked' | 'escalated' | 'released' | 'held';

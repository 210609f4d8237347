/** The names of states. In a file without schemas, so that a page can load it alone. */

export const workerStates = ['idle', 'working', 'validating', 'blocked', 'escalated', 'stopped'] as const;
export type State = (typeof workerStates)[number];
export const presences = ['active', 'stale', 'limited'] as const;
export type Presence = (typeof presences)[number];

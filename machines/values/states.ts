/** The names that everybody shows: of themselves, so that a page has them without the schemas. */

export const workerStates = ['idle', 'working', 'validating', 'blocked', 'escalated', 'stopped'] as const;
export type State = (typeof workerStates)[number];
export const presences = ['active', 'stale', 'limited'] as const;
export type Presence = (typeof presences)[number];

/**
 * What happens to the tasks that a worker holds when its attempt ends (protocol.md §4); `dispositionOf` of
 * worker/decide.ts decides it.
 */
export type TaskDisposition = 'completed' | 'blocked' | 'escalated' | 'released' | 'held';

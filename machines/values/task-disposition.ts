/** What becomes of the tasks that a worker holds when its attempt ends (protocol.md §4). */
export type TaskDisposition = 'completed' | 'blocked' | 'escalated' | 'released' | 'held';

/** The columns of the stream's rows, by name. */
import type { QueueRow, TaskRow, WorkerRow } from '../../messages.ts';

export type { QueueRow, TaskRow, WorkerRow };

export const w = {
  id: 0,
  state: 1,
  presence: 2,
  retryCount: 3,
  retryMax: 4,
  keepAlives: 5,
  idleSinceMs: 6,
  idleLimitMs: 7,
  task: 8,
  tasksHeld: 9,
  agent: 10,
  lastDecision: 11,
  lastCause: 12,
  lastDecisionMs: 13,
  lastSeenMs: 14,
  parent: 15,
  waitsFor: 16,
  waitUntilMs: 17,
  acknowledged: 18,
  planDone: 19,
  planTotal: 20,
  policy: 21,
  queue: 22,
  reason: 23,
  stateSinceMs: 24,
  awaitsInput: 25,
} as const;

export const t = {
  id: 0,
  state: 1,
  worker: 2,
  queue: 3,
  title: 4,
  iteration: 5,
  maxIterations: 6,
  hooks: 7,
  outcome: 8,
  reason: 9,
  stateSinceMs: 10,
  escalatedWith: 11,
} as const;

export const q = { id: 0, pending: 1, reported: 2 } as const;

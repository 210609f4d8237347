/** The machines' public door: everything here is pure, and runs as well in a browser. */

export * from './entries/entry.ts';
export type { StoredText } from './entries/log-line.ts';
export type { Deadline } from './fleet/deadlines.ts';
export { isLimited, policyInForce, queueOfWorker, staleAfterMs } from './fleet/facts.ts';
export * from './fleet/fleet.ts';
export { advanceClock, foldEntry, nextDeadline } from './fleet/fold.ts';
export type { Ask, Attempt, Facts, PolicyInForce } from './guards/attempt.ts';
export * from './guards/decision.ts';
export { guards } from './guards/guards.ts';
export type { HookOpinion } from './guards/task-hook.ts';
export { anyWords, checkTimeoutMs, missingFilesWords } from './policy/check.ts';
export { isDone, type Plan, planStepsMax, remainingWords, type Step } from './policy/plan.ts';
export * from './policy/policy.ts';
export { type PromiseName, promiseNames, promisesOf, readPromises } from './policy/promise.ts';
export { type Probe, type ProbeScope, probe } from './replay/probe.ts';
export { createReplay, type Replay, type ReplayLine } from './replay/replay.ts';
export * from './replay/views.ts';
export { createWhatIf, type Difference, decidingGuard, type WhatIf, type WhatIfCounts } from './replay/what-if.ts';
export { type Evaluation, taskMachine } from './task/task.ts';
export { durationSchema, formatDuration } from './values/duration.ts';
export { idSchema } from './values/id.ts';
export { idPattern, isId } from './values/id-pattern.ts';
export { formatIsoTime, isoTimeSchema, parseIsoTime } from './values/iso-time.ts';
export * from './values/states.ts';
export { type EscalatedEntity, type Escalation, nextDelivery, type TaskEscalation } from './worker/escalation.ts';
export { workerMachine } from './worker/worker.ts';
export type { WorkerContext } from './worker/worker-data.ts';

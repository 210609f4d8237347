/** The machines' public door: everything here is pure, and runs as well in a browser. */
export type { Ask, Attempt, Facts, PolicyInForce } from './attempt.ts';
export { checkTimeoutMs } from './check.ts';
export * from './decision.ts';
export { durationSchema, formatDuration } from './duration.ts';
export * from './entry.ts';
export type { Deadline } from './deadlines.ts';
export * from './fleet.ts';
export { isLimited, policyInForce, staleAfterMs } from './facts.ts';
export { guards } from './guards.ts';
export { idPattern, idSchema, isId } from './id.ts';
export { formatIsoTime, parseIsoTime } from './iso-time.ts';
export * from './policy.ts';
export { promisesOf, readPromises } from './promise.ts';
export { createReplay, type Replay, type ReplayLine } from './replay.ts';
export { type Probe, probe } from './probe.ts';
export { taskMachine } from './task.ts';
export * from './views.ts';
export { type WorkerContext, workerMachine } from './worker.ts';

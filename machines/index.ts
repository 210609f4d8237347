/** The public entry point of the machines: everything here is pure, and also runs in a browser. */

export { describeEntry, isFields, isHousekeeping } from './entries/describe-entry.ts';
export * from './entries/index.ts';
export { hasMoreValues, isTextTooDeep, isTooDeep, readJson, tooDeepMessage } from './entries/json.ts';
export { type LogLine, parseLogLine, payloadOf, type StoredText } from './entries/log-line.ts';
export * from './entries/message-ids.ts';
export { quickRead } from './entries/quick-read.ts';
export { readEntry, readFields } from './entries/read-entry.ts';
export {
  describeIssues,
  type Issue,
  type Refusal,
  type RefusedEntry,
  refusalCodes,
  toIssues,
} from './entries/refusal.ts';
export {
  type Address,
  createSubjectReader,
  isLogSubject,
  logHeads,
  readSubject,
  subjectOf,
  subjectTailsAbout,
  topicOf,
} from './entries/subject.ts';
export { type HookForm, hookTypes } from './entries/task.ts';
export { type AttemptFields, attemptSchema } from './entries/worker.ts';
export {
  actorsWithEffects,
  type CheckEffect,
  type Effect,
  effectsOf,
  type HookEffect,
  isRequested,
  type NoticeEffect,
  type NoticeSubject,
  ownerOfNotice,
  type TimerEffect,
} from './fleet/effects.ts';
export {
  actorKey,
  copyFleet,
  createFleet,
  type Fleet,
  type FleetOptions,
  type FleetWatcher,
  fleetKey,
  pendingIn,
  type TaskRecord,
  type WorkerRecord,
} from './fleet/fleet.ts';
export { advanceClock, foldDecision, foldEntry } from './fleet/fold.ts';
export { decisionSeqOf, isKnownAttempt } from './fleet/known-attempts.ts';
export type { FoldOutcome, FoldStep } from './fleet/outcome.ts';
export { ownerFor, rulesOfMembers } from './fleet/owner.ts';
export { policyInForce, queueOfWorker } from './fleet/policies.ts';
export { isLimited, staleAfterMs } from './fleet/presence.ts';
export { claimedBy } from './fleet/queues/past-claims.ts';
export { firstReady, isReady, queueFor } from './fleet/queues/queues.ts';
export {
  type FleetSnapshot,
  restoreFleet,
  type SnapshotLine,
  snapshotFormat,
  takeSnapshot,
} from './fleet/snapshot/snapshot.ts';
export { type DecisionKey, isOtherDecision, noteDecision } from './fleet/stored-decisions.ts';
export type { Deadline } from './fleet/time/deadlines.ts';
export { nextDeadline } from './fleet/time/due-time.ts';
export type { Attempt, AwaitedCheck, Facts, NextTask, PolicyInForce } from './guards/attempt.ts';
export { slotTimeoutMs } from './guards/awaited-check.ts';
export * from './guards/decision.ts';
export type { Guard, GuardResult, GuardScope } from './guards/guard.ts';
export { guards } from './guards/index.ts';
export type { HookRun } from './guards/task-hooks/hook.ts';
export { type BudgetLine, describeGrant, describeLine, usedUp } from './policy/budget.ts';
export {
  type Check,
  checkTimeoutMs,
  type EffectfulCheck,
  type GitAspects,
  isEffectful,
} from './policy/checks/check.ts';
export { type CheckResult, type Feedback, feedbackSchema, type Validation } from './policy/checks/check-result.ts';
export { missingFilesMessage, noneHoldsMessage } from './policy/checks/kinds.ts';
export { globSchema, matchGlobs } from './policy/glob.ts';
export { idleLimitOf } from './policy/persistence.ts';
export { isDone, type Plan, planStepsMax, remainingStepsMessage, type Step } from './policy/plan.ts';
export { builtInPolicy, type Policy } from './policy/policy.ts';
export * from './policy/policy-set.ts';
export { type PromiseName, promiseNames, promisesOf, readPromises } from './policy/promise.ts';
export { explainDecision } from './replay/explain.ts';
export { type PersonWait, personWaitsOfQueue, personWaitsOfTask, personWaitsOfWorker } from './replay/person-waits.ts';
export { type Probe, type ProbeScope, probe } from './replay/probe.ts';
export { createReplay, type Replay, type ReplayLine } from './replay/replay.ts';
export { sentenceOfDecision } from './replay/sentence.ts';
export {
  checksNotRun,
  describeOutcome,
  failuresIn,
  isForPerson,
  missingIn,
  type PersonKind,
  personKinds,
  type Standing,
  type Wait,
} from './replay/standing.ts';
export * from './replay/views.ts';
export { createWhatIf, type Difference, decidingGuard, type WhatIf, type WhatIfCounts } from './replay/what-if.ts';
export { describeUnknownRules, RulesVersion, releasedRules, rulesRange } from './rules/rules.ts';
export type { Evaluation } from './task/records.ts';
export { taskMachine } from './task/task.ts';
export {
  type EscalatedEntity,
  type Escalation,
  nextDelivery,
  nextWaitingDelivery,
  type TaskEscalation,
  type Unattended,
} from './values/escalation.ts';
export { attemptIdFault, idPattern, isId } from './values/id.ts';
export * from './values/limits.ts';
export type { InputAnswer, InputRequest } from './values/questions.ts';
export { durationSchema, gitRefSchema, idSchema, isoTimeSchema } from './values/schemas.ts';
export * from './values/states.ts';
export { cutMiddle } from './values/text.ts';
export { formatDuration, formatIsoTime, parseIsoTime } from './values/time.ts';
export { tokensOf, type UsageReport, type UsageView } from './values/usage.ts';
export type { WorkerContext } from './worker/context.ts';
export { workerMachine } from './worker/worker.ts';

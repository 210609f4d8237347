/** The public client: `import { connect } from 'stopgate/client'`. */
export type {
  AttemptFields,
  Decision,
  Feedback,
  HookForm,
  HookResult,
  PersonKind,
  PersonWait,
  Plan,
  QueueView,
  Step,
  TaskDetail,
  TaskView,
  Verdict,
  WorkerView,
} from '../../machines/index.ts';

export { AppError as StopgateError, type ErrorCode } from '../errors.ts';
export type { AgentContext, CompletionPromise, RuleResult } from './agent-context.ts';
export {
  type CheckReply,
  type PendingResult,
  type StopHookResult,
  TaskCompletionResult,
  ValidationResult,
} from './check-results.ts';
export {
  CompositeChecker,
  compositeValidator,
  FileExistsChecker,
  PlanBasedChecker,
  type TaskCompletionChecker,
  type TaskCompletionContext,
  todoValidator,
  type ValidationParams,
  type Validator,
} from './checkers.ts';
export { type Client, type ConnectOptions, connect, type WorkerHandle } from './connect.ts';
export type { CallOptions, DecisionCalls, TaskVerification, Verification } from './decision-calls.ts';
export { IncompleteError } from './decision-calls.ts';
export type { EntryEntity, EntryFields, EntryType, Publish, Stored } from './entries.ts';
export type { HookOptions, HookRegistration, HookState, HookType, RegisteredHook } from './hook-registry.ts';
export type { HookList, Hooks } from './hooks.ts';
export type { ClaimOptions, InputReply, OperatorCalls, TaskCalls } from './operator-calls.ts';
export type { ListFilter, Queries } from './queries.ts';
export type { Page } from './replies.ts';
export type { CheckFunction, Serve, ServedCheck, ServeOptions } from './serve-check.ts';

/**
 * Calls the checks and remote hooks that attempts and validated iterations wait for: over NATS, through a remote
 * runner, or in this process. Stores each result as an entry. Cancels calls whose result is no longer needed.
 */
import {
  type AwaitedCheck,
  type CheckEffect,
  type CheckResult,
  checkStartedMessageId,
  cutMiddle,
  type EffectfulCheck,
  type HookEffect,
  isTooDeep,
  nextPromptLengthMax,
  retriedMessageId,
  titleLengthMax,
  tooDeepMessage,
  type UsageReport,
  type WorkerContext,
} from '../../../machines/index.ts';
import type { AppError } from '../../errors.ts';
import type { AttemptTraces } from '../intake/attempt-traces.ts';
import type { OwnEntries } from '../own-entries.ts';
import { askUntilResult, type RunResult } from './check-reply.ts';
import type { Performer } from './effects.ts';
import type { PendingReplies } from './pending-replies.ts';
import { askRemote, questionOf, questionOfIteration, type RemoteOptions, toPayload } from './remote-check.ts';
import type { RunRequest } from './run-request.ts';
import { type CheckTimes, marginMs, type RemoteBus, type RunCheck, runWorkspaceCheck } from './workspace-check.ts';

export type Checks = {
  readonly check: Performer<CheckEffect>;
  readonly hook: Performer<HookEffect>;
  /**
   * Calls the check that an attempt waits for. Never rejects: a check that cannot be called has the outcome `error`.
   */
  call(awaited: AwaitedCheck, worker: WorkerContext, attempt: string, control: CallControl): Promise<CheckResult>;
};

type CallControl = Pick<CheckTimes, 'signal' | 'onStarted'>;
type OnUsage = (usage: UsageReport) => Promise<void>;
/** For probes, which store nothing. */
const notCounted: OnUsage = async () => {};

export type ChecksOptions = RemoteOptions & {
  readonly bus: RemoteBus;
  readonly runCheck: RunCheck;
  readonly entries: OwnEntries;
  readonly newId: () => string;
  readonly traces: Pick<AttemptTraces, 'callCheck'>;
  /** Receives pending replies, which views show. */
  readonly pendingReplies: Pick<PendingReplies, 'note'>;
  /** Called when the log refuses the result of a check of that attempt. */
  readonly onRefused: (worker: string, attempt: string, error: AppError) => void;
};

export function createChecks(options: ChecksOptions): Checks {
  const { fleet, lifecycle, logClock, entries, traces, newId, onRefused } = options;
  /** Calls `onUsage` with the usage that the check reports. */
  const run = async (
    awaited: AwaitedCheck,
    worker: WorkerContext,
    attempt: string,
    control: CallControl,
    onUsage: OnUsage,
  ) => {
    const { usage, ...result } = await dispatch(options, awaited, worker, attempt, control).catch(asError);
    if (usage !== undefined) await onUsage(usage);
    return toCheckResult(attempt, awaited.name, result);
  };
  const call: Checks['call'] = (awaited, worker, attempt, control) =>
    run(awaited, worker, attempt, control, notCounted);
  /** Counts each call separately, under a unique id: a replica that takes over calls the model again. */
  const storeUsage = async (worker: string, key: string, usage: UsageReport) =>
    void (await entries.untilStored({
      tail: `worker.${worker}.usage.reported`,
      data: usage,
      messageId: retriedMessageId(key, newId()),
      isNeeded: lifecycle.isRunning,
    }));
  return {
    call,
    check: {
      runsOnAllReplicas: false,
      async perform({ key, data: { worker, attempt, check } }, { signal, isNeeded }) {
        const id = worker.worker;
        const hasStarted = () => fleet.workers.get(id)?.snapshot.context.worker.attempt?.pending?.startedMs !== null;
        const onStarted = () =>
          void entries.untilFolded({
            tail: `own.worker.${id}.check.started`,
            data: { ...requestOf(worker, check), attempt, check: check.name },
            messageId: checkStartedMessageId(id, attempt, check.number, check.name),
            isNeeded: () => isNeeded() && !hasStarted(),
          });
        const result = await traces.callCheck(id, attempt, check.name, () =>
          run(check, worker, attempt, { signal, onStarted }, (usage) => storeUsage(id, `${key}:usage`, usage)),
        );
        return {
          tail: `own.worker.${id}.check.finished`,
          data: { ...shorten(result), ...requestOf(worker, check) },
          // The log refuses the result, so there is no decision to wait for.
          onRefused: (error) => onRefused(id, attempt, error),
        };
      },
    },
    hook: {
      runsOnAllReplicas: false,
      async perform({ data: { task, evaluation } }, { signal }) {
        const { attempt, pending } = evaluation;
        const { name, deadlineMs } = pending;
        const timeoutMs = Math.max(1, deadlineMs - logClock.now());
        const question = questionOfIteration(fleet, task, evaluation);
        const answer = await askRemote(options, name, question, { timeoutMs, deadlineMs, signal }).catch(asError);
        const result = toCheckResult(attempt, name, answer);
        const request = { seq: evaluation.seq, number: pending.number };
        return { tail: `own.task.${task}.check.finished`, data: { ...shorten(result), ...request } };
      },
    },
  };
}

/** Identifies the request of the open attempt, so that a late answer is not taken for that of the next request. */
const requestOf = ({ attempt }: WorkerContext, { number }: AwaitedCheck) => ({ seq: attempt?.seq, number });

/** Calls the check over NATS, through a runner, or in this process. */
async function dispatch(
  options: ChecksOptions,
  awaited: AwaitedCheck,
  worker: WorkerContext,
  attempt: string,
  control: CallControl,
): Promise<RunResult> {
  const { timeoutMs, deadlineMs } = awaited;
  const { lifecycle, logClock } = options;
  const { signal } = control;
  const onPending = (reason: string | null, askedAgainMs: number) =>
    options.pendingReplies.note({ worker: worker.worker, attempt, check: awaited.name, reason, askedAgainMs });
  const question = () => questionOf(options.fleet, worker, attempt, awaited);
  const remote = (name: string) => askRemote(options, name, question(), { timeoutMs, deadlineMs, signal, onPending });
  if (awaited.by === 'hooks') return remote(awaited.remote);
  if (awaited.check.kind === 'remote') return remote(awaited.check.remote);
  const request = runRequestOf(options, awaited.check, worker, attempt, question);
  const startTimeoutMs = deadlineMs - awaited.sinceMs;
  // The timeout runs from the first start, which may have been on another replica.
  let endMs = awaited.startedMs === null ? null : deadlineMs;
  const onStarted = () => {
    endMs ??= logClock.now() + timeoutMs;
    control.onStarted();
  };
  const leftMs = () => (endMs ?? logClock.now() + timeoutMs) - marginMs(timeoutMs) - logClock.now();
  return askUntilResult({ lifecycle, logClock, leftMs, signal, onPending }, timeoutMs, (waitMs, last) => {
    const repeated = last === null ? request : { ...request, timeoutMs: Math.ceil(waitMs) };
    return runWorkspaceCheck(options, repeated, worker, { signal, startTimeoutMs, timeoutMs: waitMs, onStarted });
  });
}

type WorkspaceCheck = Exclude<EffectfulCheck, { kind: 'remote' }>;

/** Well below NATS's default message limit of 1 MiB. More text would not help a model, either. */
const questionBytesMax = 131_072;

function runRequestOf(
  { bus }: Pick<ChecksOptions, 'bus'>,
  check: WorkspaceCheck,
  worker: WorkerContext,
  attempt: string,
  question: () => object,
): RunRequest {
  const shared = { cwd: worker.cwd, timeoutMs: check.timeoutMs };
  if (check.kind === 'files') return { ...shared, kind: 'files', files: check.files };
  if (check.kind === 'git')
    return {
      ...shared,
      kind: 'git',
      worker: worker.worker,
      clean: check.clean,
      pushed: check.pushed,
      unchanged: check.unchanged,
      since: check.since,
    };
  const env = { fleet: worker.fleet, worker: worker.worker, task: worker.tasks.at(-1) ?? null, attempt };
  const bytesMax = Math.min(questionBytesMax, bus.payloadBytesMax() / 2);
  const boundedQuestion = () => JSON.parse(toPayload(question(), bytesMax)) as object;
  return { ...shared, kind: 'command', name: check.command, env, question: boundedQuestion };
}

const asError = (error: Error): RunResult => ({ outcome: 'error', reason: error.message });

/** Replaces a result that nests too deeply: the log would refuse it, and the attempt would wait until its timeout. */
function toCheckResult(attempt: string, check: string, result: Omit<RunResult, 'usage'>): CheckResult {
  if (isTooDeep(result)) return { attempt, check, outcome: 'error', reason: `Its answer: ${tooDeepMessage}` };
  return { attempt, check, ...result };
}

const resultBytesMax = 60_000;

/** Shortens a result to the log's limits: the log would refuse it, and the attempt would wait until its timeout. */
function shorten(full: CheckResult): CheckResult {
  const result = full.reason === undefined ? full : { ...full, reason: cutMiddle(full.reason, titleLengthMax) };
  if (Buffer.byteLength(JSON.stringify(result)) <= resultBytesMax) return result;
  const { feedback: _, metadata: __, checkpointData: ___, nextPrompt, ...rest } = result;
  const note = `the answer was larger than ${resultBytesMax} bytes; feedback and data are left out, texts are cut`;
  return {
    ...rest,
    ...(nextPrompt === undefined ? {} : { nextPrompt: cutMiddle(nextPrompt, nextPromptLengthMax) }),
    feedback: { note },
  };
}

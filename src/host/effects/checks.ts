/**
 * Checks and remote hooks: calls what attempts and validated iterations wait for, over the bus, by a runner elsewhere, or
 * in this process. The result is an entry. What nothing waits for any more is cancelled.
 */
import {
  type CheckEffect,
  type CheckResult,
  checkStartedMessageId,
  cutMiddle,
  type EffectfulCheck,
  type HookEffect,
  isTooDeep,
  nextPromptLengthMax,
  type PendingCheck,
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
  /** Calls the check that an attempt waits for. Never rejects: a check that cannot be called has the outcome `error`. */
  call(pending: PendingCheck, worker: WorkerContext, attempt: string, how: Progress): Promise<CheckResult>;
};

type Progress = Pick<CheckTimes, 'signal' | 'onStarted'>;
type OnUsage = (usage: UsageReport) => Promise<void>;
/** A probe stores nothing. */
const notCounted: OnUsage = async () => {};

export type ChecksOptions = RemoteOptions & {
  readonly bus: RemoteBus;
  readonly runCheck: RunCheck;
  readonly entries: OwnEntries;
  readonly newId: () => string;
  readonly traces: Pick<AttemptTraces, 'callCheck'>;
  /** Notes what a check replied that has no result yet. */
  readonly pendingReplies: Pick<PendingReplies, 'note'>;
  /** The log does not take the result of a check of that attempt. */
  readonly onRefused: (worker: string, attempt: string, error: AppError) => void;
};

export function createChecks(options: ChecksOptions): Checks {
  const { fleet, lifecycle, logClock, entries, traces, newId, onRefused } = options;
  /** `onUsage` gets what the check says that it used. */
  const run = async (
    pending: PendingCheck,
    worker: WorkerContext,
    attempt: string,
    how: Progress,
    onUsage: OnUsage,
  ) => {
    const { usage, ...result } = await runOf(options, pending, worker, attempt, how).catch(asError);
    if (usage !== undefined) await onUsage(usage);
    return toCheckResult(attempt, pending.name, result);
  };
  const call: Checks['call'] = (pending, worker, attempt, how) => run(pending, worker, attempt, how, notCounted);
  /** Each call of a model is counted once, under an id of its own: a replica that takes over makes another call. */
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
      standsBy: false,
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
          // The result is there and the log does not take it, so the caller need not wait for the decision.
          onRefused: (error) => onRefused(id, attempt, error),
        };
      },
    },
    hook: {
      standsBy: false,
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

/** Says which request of the open attempt an entry is about: a late answer must not become that of the next request. */
const requestOf = ({ attempt }: WorkerContext, { number }: PendingCheck) => ({ seq: attempt?.seq, number });

async function runOf(
  options: ChecksOptions,
  pending: PendingCheck,
  worker: WorkerContext,
  attempt: string,
  how: Progress,
): Promise<RunResult> {
  const { timeoutMs, deadlineMs } = pending;
  const { lifecycle, logClock } = options;
  const { signal } = how;
  const onPending = (reason: string | null, askedAgainMs: number) =>
    options.pendingReplies.note({ worker: worker.worker, attempt, check: pending.name, reason, askedAgainMs });
  const question = () => questionOf(options.fleet, worker, attempt, pending);
  const remote = (name: string) => askRemote(options, name, question(), { timeoutMs, deadlineMs, signal, onPending });
  if (pending.by === 'hooks') return remote(pending.remote);
  if (pending.check.kind === 'remote') return remote(pending.check.remote);
  const request = runRequestOf(options, pending.check, worker, attempt, question);
  const startTimeoutMs = deadlineMs - pending.sinceMs;
  // The time of a check runs from its first start; another replica may have started it.
  let endMs = pending.startedMs === null ? null : deadlineMs;
  const onStarted = () => {
    endMs ??= logClock.now() + timeoutMs;
    how.onStarted();
  };
  const leftMs = () => (endMs ?? logClock.now() + timeoutMs) - marginMs(timeoutMs) - logClock.now();
  return askUntilResult({ lifecycle, logClock, leftMs, signal, onPending }, timeoutMs, (waitMs, last) => {
    const asked = last === null ? request : { ...request, timeoutMs: Math.ceil(waitMs) };
    return runWorkspaceCheck(options, asked, worker, { signal, startTimeoutMs, timeoutMs: waitMs, onStarted });
  });
}

type WorkspaceCheck = Exclude<EffectfulCheck, { kind: 'remote' }>;

/** A message of NATS holds 1 MiB by default, and a model gains nothing from more. */
const questionBytesMax = 131_072;

function runRequestOf(
  { bus }: Pick<ChecksOptions, 'bus'>,
  check: WorkspaceCheck,
  worker: WorkerContext,
  attempt: string,
  question: () => object,
): RunRequest {
  const place = { cwd: worker.cwd, timeoutMs: check.timeoutMs };
  if (check.kind === 'files') return { ...place, kind: 'files', files: check.files };
  if (check.kind === 'git')
    return {
      ...place,
      kind: 'git',
      worker: worker.worker,
      clean: check.clean,
      pushed: check.pushed,
      unchanged: check.unchanged,
      since: check.since,
    };
  const env = { fleet: worker.fleet, worker: worker.worker, task: worker.tasks.at(-1) ?? null, attempt };
  const bytesMax = Math.min(questionBytesMax, bus.payloadBytesMax() / 2);
  const asked = () => JSON.parse(toPayload(question(), bytesMax)) as object;
  return { ...place, kind: 'command', name: check.command, env, question: asked };
}

const asError = (error: Error): RunResult => ({ outcome: 'error', reason: error.message });

/** The log refuses a result that nests too deep, and the attempt would wait in vain. */
function toCheckResult(attempt: string, check: string, result: Omit<RunResult, 'usage'>): CheckResult {
  if (isTooDeep(result)) return { attempt, check, outcome: 'error', reason: `Its answer: ${tooDeepMessage}` };
  return { attempt, check, ...result };
}

const resultBytesMax = 60_000;

/** Within the log's limits: it would refuse the entry, and the attempt would wait in vain. */
function shorten(given: CheckResult): CheckResult {
  const result = given.reason === undefined ? given : { ...given, reason: cutMiddle(given.reason, titleLengthMax) };
  if (Buffer.byteLength(JSON.stringify(result)) <= resultBytesMax) return result;
  const { feedback: _, metadata: __, checkpointData: ___, nextPrompt, ...rest } = result;
  const note = `the answer was larger than ${resultBytesMax} bytes; feedback and data are left out, texts are cut`;
  return {
    ...rest,
    ...(nextPrompt === undefined ? {} : { nextPrompt: cutMiddle(nextPrompt, nextPromptLengthMax) }),
    feedback: { note },
  };
}

/** Calls one check and gives its result: over the bus, by a runner elsewhere, or in this process. Stores nothing. */
import {
  type CheckResult,
  type EffectfulCheck,
  type Evaluation,
  isTooDeep,
  type PendingCheck,
  tooDeepMessage,
  type WorkerContext,
} from '../../machines/index.ts';
import { questionOf, questionOfIteration } from './check-question.ts';
import type { HostContext } from './context.ts';
import { askRemote } from './remote-check.ts';
import type { RunRequest, RunResult } from './run-request.ts';
import { type CheckTimes, runWorkspaceCheck } from './workspace-check.ts';

/** The check that an attempt waits for. Never rejects: a check that cannot be called has the outcome `error`. */
export function callCheck(
  context: HostContext,
  pending: PendingCheck,
  worker: WorkerContext,
  attempt: string,
  how: Pick<CheckTimes, 'signal' | 'onStarted'>,
): Promise<CheckResult> {
  return toCheckResult(attempt, pending.name, runOf(context, pending, worker, attempt, how));
}

async function runOf(
  context: HostContext,
  pending: PendingCheck,
  worker: WorkerContext,
  attempt: string,
  how: Pick<CheckTimes, 'signal' | 'onStarted'>,
): Promise<RunResult> {
  const { timeoutMs, deadlineMs } = pending;
  const remote = (name: string) =>
    askRemote(context, name, questionOf(context.fleet, worker, attempt, pending), {
      ...{ timeoutMs, deadlineMs, signal: how.signal },
      onPending: (reason, askedAgainMs) =>
        context.pendingReplies.note({ worker: worker.worker, attempt, check: pending.name, reason, askedAgainMs }),
    });
  if (pending.by === 'hooks') return remote(pending.remote);
  if (pending.check.kind === 'remote') return remote(pending.check.remote);
  const times = { ...how, startTimeoutMs: pending.deadlineMs - pending.sinceMs, timeoutMs };
  return runWorkspaceCheck(context, runRequestOf(pending.check, worker, attempt), worker, times);
}

type WorkspaceCheck = Exclude<EffectfulCheck, { kind: 'remote' }>;

function runRequestOf(check: WorkspaceCheck, worker: WorkerContext, attempt: string): RunRequest {
  const place = { cwd: worker.cwd, timeoutMs: check.timeoutMs };
  if (check.kind === 'files') return { ...place, kind: 'files', files: check.files };
  if (check.kind === 'git')
    return {
      ...{ ...place, kind: 'git', worker: worker.worker, clean: check.clean, pushed: check.pushed },
      ...{ unchanged: check.unchanged, since: check.since },
    };
  const env = { fleet: worker.fleet, worker: worker.worker, task: worker.tasks.at(-1) ?? null, attempt };
  return { ...place, kind: 'command', name: check.command, env };
}

/** The remote hook that an `iteration.validated` waits for. Never rejects, as `callCheck`. */
export function callHook(
  context: HostContext,
  task: string,
  evaluation: Evaluation,
  timeoutMs: number,
): Promise<CheckResult> {
  const { attempt, pending } = evaluation;
  const question = questionOfIteration(context.fleet, task, evaluation);
  const { name, deadlineMs } = pending;
  return toCheckResult(attempt, name, askRemote(context, name, question, { timeoutMs, deadlineMs }));
}

/** The log refuses a result that nests too deep, and the attempt would wait in vain. */
async function toCheckResult(attempt: string, check: string, run: Promise<RunResult>): Promise<CheckResult> {
  const result = await run.catch((error: Error): RunResult => ({ outcome: 'error', reason: error.message }));
  if (isTooDeep(result)) return { attempt, check, outcome: 'error', reason: `Its answer: ${tooDeepMessage}` };
  return { attempt, check, ...result };
}

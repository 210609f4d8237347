/** Effects: what open attempts ask of the world. Only an attempt's owner runs them; the answer is an entry. */

import type { Ask, CheckResult, Fleet, WorkerContext } from '../../machines/index.ts';
import type { AppError } from '../errors.ts';
import { appendUntilStored, type HostContext } from './context.ts';
import { askRemote, checkResultOf, questionOf, type RunResult } from './remote.ts';
import { type RunCheck, runWhereNamed } from './run-check.ts';

export type Effects = {
  /** Runs what the worker's open attempt asks, if it is ours and does not run yet. */
  serve(worker: string): void;
  /** Stops what no open attempt asks any more. */
  drop(worker: string): void;
  /** Answers a question of a probe: nothing is stored. */
  answer(ask: Ask, worker: WorkerContext, attempt: string, signal: AbortSignal): Promise<CheckResult>;
  close(): void;
};

/** How long an answer of this id, stored by another replica, may take to be folded. */
const takenMs = 1_000;

type Running = { readonly number: number; readonly attempt: string; readonly abort: AbortController };

/** `onUnstored`: an answer is there and the log does not take it, so whoever waits should not wait for it. */
export function createEffects(
  context: HostContext,
  runCheck: RunCheck,
  onUnstored: (worker: string, attempt: string, error: AppError) => void,
): Effects {
  const running = new Map<string, Running>();
  let closed = false;

  const answer: Effects['answer'] = (ask, worker, attempt, signal) =>
    checkResultOf(attempt, ask.name, runAsk(context, runCheck, ask, worker, attempt, signal));
  const drop = (worker: string) => {
    const found = running.get(worker);
    const open = openAsk(context.fleet, worker);
    if (
      found === undefined ||
      (open?.attempt === found.attempt && open.ask.number === found.number && open.isOurs(context.replica))
    )
      return;
    running.delete(worker);
    found.abort.abort();
  };
  const run = async (worker: string, { attempt, ask }: OpenAsk, { signal }: AbortController) => {
    const asking = context.fleet.workers.get(worker)?.snapshot.context.worker as WorkerContext;
    const result = await answer(ask, asking, attempt, signal);
    const isNeeded = () => {
      const open = openAsk(context.fleet, worker);
      return !signal.aborted && open?.attempt === attempt && open.ask.number === ask.number;
    };
    const tail = `own.worker.${worker}.check.finished`;
    const unstored = (error: AppError) => onUnstored(worker, attempt, error);
    const id = `${worker}:${attempt}:check:${ask.number}:${ask.name}`;
    await appendAnswer(context, tail, result, id, isNeeded, unstored);
  };
  return {
    serve(worker) {
      drop(worker);
      const open = openAsk(context.fleet, worker);
      // What is folded while this replica leaves is the others' to do.
      if (closed || open === null || !open.isOurs(context.replica) || running.has(worker)) return;
      const abort = new AbortController();
      running.set(worker, { number: open.ask.number, attempt: open.attempt, abort });
      void run(worker, open, abort);
    },
    drop,
    answer,
    close() {
      closed = true;
      for (const { abort } of running.values()) abort.abort();
      running.clear();
    },
  };
}

type OpenAsk = { readonly attempt: string; readonly ask: Ask; readonly isOurs: (replica: string) => boolean };

function openAsk(fleet: Fleet, worker: string): OpenAsk | null {
  const record = fleet.workers.get(worker);
  const attempt = record?.snapshot.context.worker.attempt;
  if (record === undefined || attempt?.asked == null) return null;
  return { attempt: attempt.attempt, ask: attempt.asked, isOurs: (replica) => record.owner === replica };
}

async function runAsk(
  context: HostContext,
  runCheck: RunCheck,
  ask: Ask,
  worker: WorkerContext,
  attempt: string,
  signal: AbortSignal,
): Promise<RunResult> {
  const timeoutMs = ask.deadlineMs - ask.askedMs;
  if (ask.by === 'hooks') return askRemote(context, ask.remote, questionOf(context.fleet, worker, attempt), timeoutMs);
  const { check } = ask;
  if (check.kind === 'remote')
    return askRemote(context, check.remote, questionOf(context.fleet, worker, attempt), timeoutMs);
  const place = { cwd: worker.cwd, timeoutMs: check.timeoutMs };
  const env = { fleet: worker.fleet, worker: worker.worker, task: worker.tasks.at(-1) ?? null, attempt };
  const request =
    check.kind === 'files'
      ? ({ ...place, kind: 'files', files: check.files } as const)
      : ({ ...place, kind: 'command', name: check.command, env } as const);
  return runWhereNamed(context, runCheck, request, worker, timeoutMs, signal);
}

/** Stores the answer to what is open, as long as it is. */
export async function appendAnswer(
  context: HostContext,
  tail: string,
  result: CheckResult,
  messageId: string,
  isNeeded: () => boolean,
  onRefused?: (error: AppError) => void,
): Promise<void> {
  // Message ids are anybody's words: where one of ours was used for something else, the answer goes in under another.
  for (let id = messageId; isNeeded(); id += ':again') {
    const { duplicate } = await appendUntilStored(context, tail, fitting(result), id, isNeeded, onRefused);
    if (!duplicate) return;
    await new Promise((done) => setTimeout(done, takenMs));
  }
}

const resultBytesMax = 60_000;
/** An entry over the log's limit would be refused, and the attempt would wait for nothing. */
function fitting(result: CheckResult): CheckResult {
  if (Buffer.byteLength(JSON.stringify(result)) <= resultBytesMax) return result;
  const { feedback: _, metadata: __, checkpointData: ___, reason, nextPrompt, ...rest } = result;
  const note = `the answer was larger than ${resultBytesMax} bytes; feedback and data are left out, words are cut`;
  return {
    ...rest,
    ...(reason === undefined ? {} : { reason: reason.slice(0, 4_000) }),
    ...(nextPrompt === undefined ? {} : { nextPrompt: nextPrompt.slice(0, 4_000) }),
    feedback: { note },
  };
}

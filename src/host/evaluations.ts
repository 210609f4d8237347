/**
 * Evaluations: an `iteration.validated`, stored by a request or published by anyone, and the hook result that comes of
 * it. Callers wait here. A remote hook is called as a check is, and its answer is an entry.
 */
import {
  type Evaluation,
  evaluationMessageId,
  type HookResult,
  hookMessageId,
  isEvaluationMessageIdOf,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { callHook } from './check-call.ts';
import { storeCheckResult } from './check-results.ts';
import { type HostContext, isAtHead, subject } from './context.ts';
import { expectEntry } from './expect-entry.ts';

export type Evaluations = {
  /** Appends an `iteration.validated` and gives what the hooks decide. @throws AppError entry.refused, log.unavailable */
  evaluate(task: string, fields: object): Promise<HookResult>;
  /** An `iteration.validated` was folded; its outcomes come after. `refusal`: why it makes no sense now, or null. */
  onStored(message: LogMessage, task: string, attempt: string, refusal: string | null): void;
  onValidated(task: string, attempt: string, result: HookResult): void;
  /** Calls the hooks that the task's evaluations wait for, where they are ours. */
  callHooks(task: string): void;
  /** Calls all that are ours. */
  open(): void;
  /** Calls those of an owner that is gone, where `isMine` says so of task and attempt. */
  takeOver(owner: string | null, isMine: (key: string) => boolean): void;
  /** Other replicas that have to call a hook. */
  owners(): Set<string | null>;
  close(): void;
};

type Open = { readonly task: string; readonly evaluation: Evaluation };

const evaluationKey = (task: string, attempt: string) => `${task}:${attempt}`;

export function createEvaluations(context: HostContext): Evaluations {
  const { fleet, evaluationWaiters: waiters } = context;
  const called = new WeakSet<Evaluation['pending']>();
  let closed = false;

  const openIn = (task: string): readonly Open[] =>
    (fleet.tasks.get(task)?.snapshot.context.evaluations ?? []).map((evaluation) => ({ task, evaluation }));
  const openInAll = (): Open[] => [...fleet.evaluating].flatMap(openIn);
  const isOurs = ({ evaluation: { owner } }: Open) => owner === null || owner === context.replica;

  const call = async ({ task, evaluation }: Open) => {
    const { pending, seq } = evaluation;
    if (called.has(pending)) return;
    called.add(pending);
    const timeoutMs = Math.max(1, pending.deadlineMs - context.logClock.now());
    const result = await callHook(context, task, evaluation, timeoutMs);
    await storeCheckResult(context, result, {
      ...{ entity: 'task', id: task, messageId: hookMessageId(task, seq, pending.number, pending.name) },
      isNeeded: () => !closed && openIn(task).some((it) => it.evaluation.pending === pending),
    });
  };
  const callEach = (open: readonly Open[]) => {
    for (const it of open) void call(it);
  };

  return {
    evaluate: (task, fields) => submit(context, task, fields),
    onStored(message, task, attempt, refusal) {
      const messageId = message.header('Nats-Msg-Id');
      if (messageId === undefined || !isEvaluationMessageIdOf(task, messageId)) return;
      if (refusal === null) waiters.onStored(messageId, evaluationKey(task, attempt));
      else waiters.fail(messageId, new AppError('entry.refused', refusal));
    },
    onValidated: (task, attempt, result) => waiters.settle(evaluationKey(task, attempt), result),
    callHooks(task) {
      if (isAtHead(context)) callEach(openIn(task).filter(isOurs));
    },
    open: () => callEach(openInAll().filter(isOurs)),
    takeOver: (owner, isMine) =>
      callEach(
        openInAll().filter(
          (it) =>
            it.evaluation.owner === owner && (isOurs(it) || isMine(evaluationKey(it.task, it.evaluation.attempt))),
        ),
      ),
    owners: () => new Set(openInAll().flatMap((it) => (isOurs(it) ? [] : [it.evaluation.owner]))),
    close() {
      closed = true;
    },
  };
}

/** Each call is judged again, so each has an id of its own: equal fields about the same iteration are not a repeat. */
function submit(context: HostContext, task: string, fields: object): Promise<HookResult> {
  const { replica, evaluationWaiters } = context;
  const messageId = evaluationMessageId(task, context.newId());
  const answer = evaluationWaiters.wait(messageId, (onLate) => expectEntry(context, onLate));
  const target = subject(context, `task.${task}.iteration.validated`);
  context.log.submit(target, JSON.stringify(fields), { messageId, replica }, (stored) => {
    if (stored instanceof AppError) evaluationWaiters.fail(messageId, stored);
  });
  return answer;
}

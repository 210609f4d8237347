/**
 * Evaluations: an `iteration.validated`, stored by a request or published by anyone, and the hook result that comes of
 * it. Callers wait here.
 */
import { evaluationMessageId, type HookResult, isEvaluationMessageIdOf } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import type { HostContext } from './context.ts';
import { expectEntry } from './expect-entry.ts';
import { subject } from './own-entries.ts';

const evaluationKey = (task: string, attempt: string) => `${task}:${attempt}`;

/**
 * Appends an `iteration.validated` and gives what the hooks decide. Each call is judged again, so each has an id of its
 * own: equal fields about the same iteration are not a repeat. @throws AppError entry.refused, log.unavailable
 */
export function submitEvaluation(context: HostContext, task: string, fields: object): Promise<HookResult> {
  const { replica, evaluationWaiters } = context;
  const messageId = evaluationMessageId(task, context.newId());
  const answer = evaluationWaiters.wait(messageId, (onLate) => expectEntry(context, onLate));
  const target = subject(context, `task.${task}.iteration.validated`);
  context.log.submit(target, JSON.stringify(fields), { messageId, replica }, (stored) => {
    if (stored instanceof AppError) evaluationWaiters.fail(messageId, stored);
  });
  return answer;
}

/** An `iteration.validated` was folded; its outcomes come after. `refusal`: why it makes no sense now, or null. */
export function onEvaluationStored(
  { evaluationWaiters }: HostContext,
  message: LogMessage,
  task: string,
  attempt: string,
  refusal: string | null,
): void {
  const messageId = message.header('Nats-Msg-Id');
  if (messageId === undefined || !isEvaluationMessageIdOf(task, messageId)) return;
  if (refusal === null) evaluationWaiters.onStored(messageId, evaluationKey(task, attempt));
  else evaluationWaiters.fail(messageId, new AppError('entry.refused', refusal));
}

export const onEvaluated = ({ evaluationWaiters }: HostContext, task: string, attempt: string, result: HookResult) =>
  evaluationWaiters.settle(evaluationKey(task, attempt), result);

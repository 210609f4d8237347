/**
 * Why an entry was or would be refused. The log also stores entries that are not valid in the current state; their
 * actor lists them as refused. An operator's action is checked here before it is stored.
 */
import type { QueueView, TaskView, WorkerView } from '../../machines/index.ts';
import { areDistinct, describeQuestions, readAnswers, readQuestions } from '../../machines/values/questions.ts';
import { budgetKinds, type GrantedAmounts } from '../../machines/values/usage.ts';
import { AppError } from '../errors.ts';

/**
 * @param view the actor's view, after the entry at `seq` is folded
 * @throws AppError entry.refused with the fold's reason if that entry was refused
 */
export function throwIfRefused({ refused }: Partial<Pick<WorkerView, 'refused'>>, seq: number): void {
  // Queues have no such list.
  const reason = refused?.find((entry) => entry.seq === seq)?.reason;
  if (reason !== undefined) throw new AppError('entry.refused', reason);
}

/** Returns why this actor cannot be acknowledged (nothing about it notifies people), or null. */
export function acknowledgementFault(view: WorkerView | TaskView | QueueView): string | null {
  if ('pending' in view) return view.unattended === null ? `queue ${view.queue} is not unattended` : null;
  if (view.state === 'escalated') return null;
  if (!('inputs' in view)) return `task ${view.task} is not escalated, it is ${view.state}`;
  const isOverdue = view.inputs.some(({ overdue }) => overdue !== undefined);
  return isOverdue ? null : `worker ${view.worker} is not escalated, it is ${view.state}`;
}

/**
 * Refuses a second retirement, which would change nothing but look like a separate action in the log.
 * @throws AppError entry.refused if the worker was retired and has not registered since
 */
export function throwIfRetired(worker: string, { ended }: Partial<Pick<WorkerView, 'ended'>>): void {
  if (ended === 'retired') throw new AppError('entry.refused', `worker ${worker} is already retired`);
}

/**
 * Refuses a grant that would have no effect: the fold ignores it, and grants what is configured.
 * @throws AppError entry.refused
 */
export function throwIfNotGrantable(view: WorkerView | TaskView, grant: GrantedAmounts): void {
  const who = 'task' in view ? `task ${view.task}` : `worker ${view.worker}`;
  const period = view.escalation?.budget;
  if (period === undefined)
    throw new AppError('entry.refused', `${who} was not escalated for a budget, so there is nothing to grant`);
  const limits = 'budgets' in view ? view.budgets.filter(({ per }) => per === period).map(({ kind }) => kind) : [];
  // The budget of a task is not in the view of a worker that no longer holds it.
  if (limits.length === 0) return;
  const unlimited = budgetKinds.find((kind) => grant[kind] !== undefined && !limits.includes(kind));
  if (unlimited !== undefined)
    throw new AppError('entry.refused', `the budget of ${who} limits ${limits.join(', ')}, and not ${unlimited}`);
}

type Asking = Pick<WorkerView, 'worker' | 'inputs' | 'lastAnswer'>;

/**
 * An operator's reply. `request` is optional if exactly one is open. `seq` is the entry of the request that the
 * operator has seen.
 */
export type Reply = {
  readonly verdict: 'allow' | 'deny';
  readonly request?: string | undefined;
  readonly seq?: number | undefined;
  readonly message?: string | undefined;
};

/**
 * Returns the fields of an `input.answered`, except `by`.
 * @throws AppError as `openRequest`; input.bad if a question is allowed without a valid answer, or if questions have
 * equal texts
 */
export function createAnswer(asking: Asking, { verdict, request: named, seq, message }: Reply) {
  const request = openRequest(asking, named, seq);
  const asked = asking.inputs.find((input) => input.request === request);
  const questions = readQuestions(asked?.detail ?? null);
  if (verdict === 'allow' && questions !== null && !areDistinct(questions)) {
    const why = 'asks questions with equal texts, so its answers could not be distinguished';
    throw new AppError('input.bad', `worker ${asking.worker} ${why}; deny it, and say in the message what to do`);
  }
  if (verdict === 'allow' && questions !== null && readAnswers(questions, message ?? '') === null) {
    const form = questions.length === 1 ? 'the answer' : 'a JSON object of answers by question';
    const what = describeQuestions(questions);
    throw new AppError('input.bad', `worker ${asking.worker} asks: ${what}; give ${form} as the message`);
  }
  // The detail may have been cut, so that its questions cannot be read.
  if (verdict === 'allow' && asked?.kind === 'question' && (message ?? '').trim() === '')
    throw new AppError('input.bad', `worker ${asking.worker} asks a question; give the answer as the message`);
  return { request, verdict, ...(message === undefined ? {} : { message }) };
}

/**
 * Returns the open request with that id, or the only open one. `seq` guards against an agent that reuses the id for
 * another question.
 * @throws AppError entry.refused if it is not open, or if it is ambiguous
 */
export function openRequest({ worker, inputs, lastAnswer }: Asking, request?: string, seq?: number): string {
  const open = inputs.flatMap((input) => input.request ?? []);
  const [first, ...more] = request === undefined ? open : open.filter((id) => id === request);
  if (first !== undefined && more.length === 0) {
    if (seq === undefined || inputs.some((input) => input.request === first && input.seq === seq)) return first;
    throw new AppError('entry.refused', `worker ${worker} now asks something else as request ${first}; look again`);
  }
  throw new AppError('entry.refused', explain(worker, open, request, lastAnswer));
}

function explain(
  worker: string,
  open: readonly string[],
  request: string | undefined,
  last: WorkerView['lastAnswer'],
): string {
  if (request === undefined && open.length > 1)
    return `worker ${worker} has ${open.length} open requests, name one: ${open.join(', ')}`;
  const answered = last !== null && (request === undefined || last.request === request);
  const suffix = answered ? `; ${last.request} was answered by ${last.by}: ${last.verdict}` : '';
  const what = request === undefined ? 'no request that can be answered' : `no open request ${request}`;
  return `worker ${worker} has ${what}${suffix}`;
}

/**
 * Says why an entry was refused, or would be. The log also stores an entry that is not valid in the current state, and its
 * actor then lists it as refused; what an operator does is refused before that.
 */
import type { QueueView, TaskView, WorkerView } from '../../machines/index.ts';
import { areDistinct, describeQuestions, readAnswers, readQuestions } from '../../machines/values/questions.ts';
import { AppError } from '../errors.ts';

/**
 * @param refused of the actor, once the entry at `seq` is folded
 * @throws AppError entry.refused: that entry was, with the fold's reason
 */
export function throwIfRefused({ refused }: Partial<Pick<WorkerView, 'refused'>>, seq: number): void {
  // A queue has no list of them.
  const reason = refused?.find((it) => it.seq === seq)?.reason;
  if (reason !== undefined) throw new AppError('entry.refused', reason);
}

/** Says why nobody can acknowledge it: there is nothing of which people are notified. Null: they can. */
export function acknowledgementFault(view: WorkerView | TaskView | QueueView): string | null {
  if ('pending' in view) return view.unattended === null ? `queue ${view.queue} is not unattended` : null;
  if (view.state === 'escalated') return null;
  if (!('inputs' in view)) return `task ${view.task} is not escalated, it is ${view.state}`;
  const isOverdue = view.inputs.some(({ overdue }) => overdue !== undefined);
  return isOverdue ? null : `worker ${view.worker} is not escalated, it is ${view.state}`;
}

/**
 * A second retirement would change nothing, and stand in the log as an action of its own.
 *
 * @throws AppError entry.refused: it was retired, and has not registered since
 */
export function throwIfRetired(worker: string, { ended }: Partial<Pick<WorkerView, 'ended'>>): void {
  if (ended === 'retired') throw new AppError('entry.refused', `worker ${worker} is retired already`);
}

// Which request of an agent an operator answers.

type Asking = Pick<WorkerView, 'worker' | 'inputs' | 'lastAnswer'>;

/**
 * The reply of an operator. `request` may be left out if only one is open; `seq`: of the entry that asked, as it was
 * read.
 */
export type Reply = {
  readonly verdict: 'allow' | 'deny';
  readonly request?: string | undefined;
  readonly seq?: number | undefined;
  readonly message?: string | undefined;
};

/**
 * The fields of an `input.answered`, but for `by`.
 * @throws AppError as `openRequest`; input.bad: a question that is allowed without an answer, or with one that could be
 * another's
 */
export function createAnswer(asking: Asking, { verdict, request: named, seq, message }: Reply) {
  const request = openRequest(asking, named, seq);
  const asked = asking.inputs.find((it) => it.request === request);
  const questions = readQuestions(asked?.detail ?? null);
  if (verdict === 'allow' && questions !== null && !areDistinct(questions)) {
    const why = 'asks questions that look alike, so that its answers could not be told apart';
    throw new AppError('input.bad', `worker ${asking.worker} ${why}; deny it, and say in the message what to do`);
  }
  if (verdict === 'allow' && questions !== null && readAnswers(questions, message ?? '') === null) {
    const form = questions.length === 1 ? 'the answer' : 'a JSON object of answers by question';
    const what = describeQuestions(questions);
    throw new AppError('input.bad', `worker ${asking.worker} asks: ${what}; give ${form} as the message`);
  }
  // Its text may have been cut, so that the questions in it cannot be read.
  if (verdict === 'allow' && asked?.kind === 'question' && (message ?? '').trim() === '')
    throw new AppError('input.bad', `worker ${asking.worker} asks a question; give the answer as the message`);
  return { request, verdict, ...(message === undefined ? {} : { message }) };
}

/**
 * `request` undefined: the only one that is open. `seq`: of the entry that asked; an agent may use the id for another
 * question. @throws AppError entry.refused: it is not open, or it is not clear which
 */
export function openRequest({ worker, inputs, lastAnswer }: Asking, request?: string, seq?: number): string {
  const open = inputs.flatMap((input) => input.request ?? []);
  const [first, ...more] = request === undefined ? open : open.filter((it) => it === request);
  if (first !== undefined && more.length === 0) {
    if (seq === undefined || inputs.some((it) => it.request === first && it.seq === seq)) return first;
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

/** Which request of an agent an operator answers. */
import type { WorkerView } from '../../machines/index.ts';
import { areDistinct, describeQuestions, readAnswers, readQuestions } from '../../machines/values/questions.ts';
import { AppError } from '../errors.ts';

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

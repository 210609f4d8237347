/** Input requests of a worker, and an operator's answers (protocol.md §3). */

import { type InputAnswer, type InputRequest, type Inputs, noInputs } from '../values/input.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import { inputDetailLengthMax, inputMessageLengthMax, inputsMax, inputToolLengthMax } from '../values/limits.ts';
import { cutMiddle } from '../values/text.ts';
import type { WorkerContext } from './context.ts';
import type { On } from './events.ts';

/** A request with the same id replaces the earlier one; of requests without an id the newest is kept. */
export function requestInput({ inputs }: WorkerContext, { data, seq, atMs }: On<'input.requested'>): Inputs {
  const { request = null } = data;
  const asked: InputRequest = {
    ...{ request, kind: cut(data.kind, inputToolLengthMax), message: cut(data.message, inputMessageLengthMax) },
    ...{ tool: cut(data.tool, inputToolLengthMax), detail: cut(toText(data.detail), inputDetailLengthMax) },
    ...{ since: formatIsoTime(atMs), seq },
  };
  return withInputs([...without(inputs, request), asked]);
}

export const receiveInput = ({ inputs }: WorkerContext, { data }: On<'input.received'>): Inputs =>
  data.request === undefined ? noInputs : withInputs(without(inputs, data.request));

export function answerInput({ inputs }: WorkerContext, { data, atMs }: On<'input.answered'>) {
  const { request, verdict, by } = data;
  const answer: InputAnswer = {
    ...{ request, verdict, by, message: cut(data.message, inputMessageLengthMax), at: formatIsoTime(atMs) },
  };
  return { ...withInputs(without(inputs, request)), lastAnswer: answer };
}

/** Why an answer is not valid in the current state; null: it is. */
export function refuseRequest({ inputs }: WorkerContext, request: string | undefined): string | null {
  const isKnown = inputs.some((input) => input.request === (request ?? null));
  return isKnown || inputs.length < inputsMax ? null : `${inputsMax} questions are open, the most there may be`;
}

export function refuseAnswer({ worker, inputs, lastAnswer }: WorkerContext, request: string): string | null {
  if (inputs.some((input) => input.request === request)) return null;
  if (lastAnswer?.request !== request) return `worker ${worker} does not ask for ${request}`;
  return `request ${request} of worker ${worker} was answered by ${lastAnswer.by}: ${lastAnswer.verdict}`;
}

const without = (inputs: readonly InputRequest[], request: string | null): readonly InputRequest[] =>
  inputs.filter((input) => input.request !== request);
const withInputs = (inputs: readonly InputRequest[]): Inputs =>
  inputs.length === 0 ? noInputs : { inputs, awaitsInput: true };
const cut = (text: string | null | undefined, lengthMax: number): string | null =>
  text === undefined || text === null ? null : cutMiddle(text, lengthMax);
const toText = (detail: unknown): string | undefined =>
  detail === undefined || typeof detail === 'string' ? detail : JSON.stringify(detail);

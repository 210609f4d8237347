/** Input requests of a worker, and operators' answers (protocol.md §3 and §8). */
import { acknowledge, noteNotice, unnoticed } from '../values/escalation.ts';
import { inputDetailLengthMax, inputMessageLengthMax, inputToolLengthMax } from '../values/limits.ts';
import { type InputAnswer, type InputRequest, type Inputs, noInputs } from '../values/questions.ts';
import { cutMiddle } from '../values/text.ts';
import { formatIsoTime, parseIsoTime } from '../values/time.ts';
import type { Change } from './changes.ts';
import type { WorkerContext } from './context.ts';
import type { WorkerEventOf } from './events.ts';

/** A request replaces an earlier one with the same id. Of requests without an id, only the newest is kept. */
export function requestInput({ inputs }: WorkerContext, { data, seq, atMs }: WorkerEventOf<'input.requested'>): Inputs {
  const { request = null } = data;
  const asked: InputRequest = {
    request,
    kind: cut(data.kind, inputToolLengthMax),
    message: cut(data.message, inputMessageLengthMax),
    tool: cut(data.tool, inputToolLengthMax),
    detail: cut(toText(data.detail), inputDetailLengthMax),
    since: formatIsoTime(atMs),
    seq,
  };
  return withInputs([...without(inputs, request), asked]);
}

export const receiveInput = ({ inputs }: WorkerContext, { data }: WorkerEventOf<'input.received'>): Inputs =>
  data.request === undefined ? noInputs : withInputs(without(inputs, data.request));

export function answerInput({ inputs }: WorkerContext, { data, atMs }: WorkerEventOf<'input.answered'>) {
  const { request, verdict, by } = data;
  const message = cut(data.message, inputMessageLengthMax);
  const lastAnswer: InputAnswer = { request, verdict, by, message, at: formatIsoTime(atMs) };
  return { lastAnswer, ...withInputs(without(inputs, request)) };
}

export const noteOverdue = ({ inputs }: WorkerContext, { sinceMs, atMs }: WorkerEventOf<'input.overdue'>): Change =>
  changeInputs(inputs, (request) =>
    request.overdue === undefined && (parseIsoTime(request.since) ?? 0) <= sinceMs
      ? { ...request, overdue: { since: formatIsoTime(atMs), ...unnoticed } }
      : request,
  );

export const noticeInput = ({ inputs }: WorkerContext, { data, atMs }: WorkerEventOf<'input.noticed'>): Change =>
  changeInputs(inputs, (request) =>
    request.overdue !== undefined && request.seq === data.request
      ? { ...request, overdue: noteNotice(request.overdue, formatIsoTime(atMs)) }
      : request,
  );

export const acknowledgeInputs = (
  { inputs }: WorkerContext,
  { data, atMs }: WorkerEventOf<'input.acknowledged'>,
): Change =>
  changeInputs(inputs, (request) =>
    request.overdue === undefined
      ? request
      : { ...request, overdue: acknowledge(request.overdue, data.by, formatIsoTime(atMs)) },
  );

const changeInputs = (inputs: readonly InputRequest[], act: (request: InputRequest) => InputRequest): Change => ({
  inputs: inputs.map(act),
});

/** Returns the reason for refusing an operator's answer, or null. */
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

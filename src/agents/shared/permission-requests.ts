/**
 * Holds an agent's permission request or question for an operator's answer if its policy has `ask` (protocol.md §8).
 */
import { randomUUID } from 'node:crypto';
import { type InputAnswer, requestLengthMax } from '../../../machines/index.ts';
import { areDistinct, questionsIn, readAnswers, readQuestions } from '../../../machines/values/questions.ts';
import type { Service } from '../../service/index.ts';
import { startTimedSignal } from '../../timer.ts';
import { nameCharsMax } from './entry-drafts.ts';
import { fitQuestions, fittedQuestions } from './fit-questions.ts';
import { shownInput, shownText } from './secrets.ts';
import { firstChars } from './text.ts';

/** Limit for the description of a tool call: enough for a person to judge it, and all that the fold keeps. */
const detailCharsMax = 4_000;

/** The fields of an `input.requested`. */
export type InputFields = {
  readonly kind: 'permission' | 'question';
  readonly tool?: string;
  readonly message?: string;
  readonly detail?: string;
  /** The agent's id for the request, if it has one. */
  readonly request?: string;
};

/** A request that is held for an operator. */
export type HeldRequest = {
  readonly worker: string;
  readonly request: string;
  /** Sequence number of its `input.requested` in the log. */
  readonly seq: number;
  readonly input: InputFields;
  readonly askMs: number;
};

type Publish = (type: string, data: object) => Promise<number>;

/** Describes a tool call that waits for a person, with secrets hidden. */
export function describeToolRequest(
  kind: InputFields['kind'],
  tool: string | undefined,
  input: object | undefined,
): InputFields {
  return {
    kind,
    ...(tool === undefined ? {} : { tool: firstChars(tool, nameCharsMax) }),
    ...(input === undefined ? {} : { detail: shownInput(input, detailCharsMax) }),
  };
}

const questionCharsMax = 500;

/** Describes a tool call that asks questions. `message` is the first question, for lists. */
export function describeQuestion(tool: string, input: object | undefined): InputFields {
  const [first] = questionsIn(input) ?? [];
  return {
    ...describeToolRequest('question', tool, undefined),
    ...(input === undefined ? {} : { detail: fitQuestions(input, detailCharsMax) }),
    ...(first === undefined ? {} : { message: shownText(first.question, questionCharsMax) }),
  };
}

/**
 * The answers to the questions of the tool's input, in order. The operator's message refers to the questions as shown,
 * with secrets hidden and long texts cut. Null if the message does not answer all of them, or if two look the same when
 * shown.
 */
export function answersTo(input: object | undefined, message: string | null): string[] | null {
  const questions = fittedQuestions(input, detailCharsMax);
  return questions === null ? null : readAnswers(questions, message ?? '');
}

/** The text that the model gets: the operator's reason or, without one, who denied it. */
export const denialText = ({ by, message }: InputAnswer): string =>
  message ?? `Denied by ${by}, an operator of stopgate.`;

/** The answer for agents with the hook `PermissionRequest`. Codex rejects an answer with any other key. */
export const answerPermission = (answer: InputAnswer): object =>
  decidePermission(
    answer.verdict === 'allow' ? { behavior: 'allow' } : { behavior: 'deny', message: denialText(answer) },
  );

export const decidePermission = (decision: { readonly behavior: string; readonly [key: string]: unknown }): object => ({
  hookSpecificOutput: { hookEventName: 'PermissionRequest', decision },
});

/** Appended to the agent's id: agents may reuse ids, and an answer must match a single request. */
const suffixLength = '-0a1b2c3d'.length;

export const newRequest = (own: string | undefined): string =>
  own === undefined || own.length + suffixLength > requestLengthMax
    ? randomUUID()
    : `${own}-${randomUUID().slice(0, suffixLength - 1)}`;

/** True if `request` was created by `newRequest(own)`. */
export const isRequestFor = (request: string, own: string | undefined): boolean =>
  request.slice(0, -suffixLength) === own;

/** False if some questions are not shown or look the same when shown: they could get each other's answers. */
function canAnswer({ kind, detail }: InputFields): boolean {
  if (kind !== 'question') return true;
  const questions = readQuestions(detail ?? null);
  return questions !== null && areDistinct(questions);
}

/**
 * Stores the request.
 * @returns null if the agent must ask at its own terminal: the policy has no `ask`, or an operator could not answer
 */
export async function storeRequest(
  worker: string,
  input: InputFields,
  askMs: number | null,
  publish: Publish,
): Promise<HeldRequest | null> {
  const { request: own, ...fields } = input;
  if (askMs === null || !canAnswer(input)) {
    await publish('input.requested', fields);
    return null;
  }
  const id = newRequest(own);
  const seq = await publish('input.requested', { ...fields, request: id });
  return { worker, request: id, seq, input: fields, askMs };
}

/** Returns the operator's answer, or null if none came in time or the agent stopped waiting (`gone`). */
export async function awaitAnswer(
  service: Pick<Service, 'untilAnswered' | 'peek'>,
  { worker, request: id, seq: askedSeq, input, askMs }: HeldRequest,
  gone: AbortSignal,
  publish: Publish,
): Promise<InputAnswer | null> {
  const late = startTimedSignal(askMs);
  const over = AbortSignal.any([gone, late.signal]);
  const answer = await service.untilAnswered(worker, { request: id, seq: askedSeq }, over).finally(late.clear);
  if (answer !== null || !over.aborted) return answer;
  // This entry closes the request. An answer that precedes it in the log still counts.
  const seq = await publish('input.received', { request: id });
  const view = await service.peek(worker, seq);
  if (view?.lastAnswer?.request === id) return view.lastAnswer;
  if (!gone.aborted) await publish('input.requested', input);
  return null;
}

/** An agent's request for permission, held for an operator's answer where its policy has `ask` (protocol.md §8). */
import { randomUUID } from 'node:crypto';
import { type InputAnswer, requestLengthMax } from '../../../machines/index.ts';
import { areDistinct, questionsIn, readAnswers, readQuestions } from '../../../machines/values/questions.ts';
import type { Service } from '../../service/index.ts';
import { startTimedSignal } from '../../timer.ts';
import { nameCharsMax } from './entry-drafts.ts';
import { fitQuestions, fittedQuestions } from './fit-questions.ts';
import { shownInput, shownText } from './secrets.ts';
import { firstChars } from './text.ts';

/** The description of what a tool is to do has this much: enough for a person to judge it. The fold keeps no more. */
const detailCharsMax = 4_000;

/** The fields of an `input.requested`. */
export type InputFields = {
  readonly kind: 'permission' | 'question';
  readonly tool?: string;
  readonly message?: string;
  readonly detail?: string;
  /** The agent's own id of it, if it has one. */
  readonly request?: string;
};

/** A request that is held; `seq`: where it stands in the log. */
export type HeldRequest = {
  readonly worker: string;
  readonly request: string;
  readonly seq: number;
  readonly input: InputFields;
  readonly askMs: number;
};

type Publish = (type: string, data: object) => Promise<number>;

/** A tool that waits for a person. Values in the usual shapes of secrets are hidden. */
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

/** With its first question in words, for lists. */
export function describeQuestion(tool: string, input: object | undefined): InputFields {
  const [first] = questionsIn(input) ?? [];
  return {
    ...describeToolRequest('question', tool, undefined),
    ...(input === undefined ? {} : { detail: fitQuestions(input, detailCharsMax) }),
    ...(first === undefined ? {} : { message: shownText(first.question, questionCharsMax) }),
  };
}

/**
 * The answer to each question of the tool's input, in their order. Whoever answers sees the questions with secrets hidden and
 * what is too long cut, and names them so. Null: the message does not answer them all, or they cannot be told apart so.
 */
export function answersTo(input: object | undefined, message: string | null): string[] | null {
  const questions = fittedQuestions(input, detailCharsMax);
  return questions === null ? null : readAnswers(questions, message ?? '');
}

/** Returns what the model reads; without a reason it says who has denied it. */
export const denialText = ({ by, message }: InputAnswer): string =>
  message ?? `${by} has denied this, as an operator of stopgate.`;

/** For agents with the hook `PermissionRequest`. Codex refuses a permission whose answer has any other key. */
export const answerPermission = (given: InputAnswer): object =>
  decidePermission(
    given.verdict === 'allow' ? { behavior: 'allow' } : { behavior: 'deny', message: denialText(given) },
  );

export const decidePermission = (decision: { readonly behavior: string; readonly [key: string]: unknown }): object => ({
  hookSpecificOutput: { hookEventName: 'PermissionRequest', decision },
});

/** Behind an agent's own id: agents may use one again, and an answer is to one asking alone. */
const suffixLength = '-0a1b2c3d'.length;

export const newRequest = (own: string | undefined): string =>
  own === undefined || own.length + suffixLength > requestLengthMax
    ? randomUUID()
    : `${own}-${randomUUID().slice(0, suffixLength - 1)}`;

/** Tells whether it was made for what the agent itself calls `own`. */
export const isRequestFor = (request: string, own: string | undefined): boolean =>
  request.slice(0, -suffixLength) === own;

/** Questions that cannot all be shown, or that read alike as shown, would get an answer that was meant for another. */
function canAnswer({ kind, detail }: InputFields): boolean {
  if (kind !== 'question') return true;
  const questions = readQuestions(detail ?? null);
  return questions !== null && areDistinct(questions);
}

/** Asks. Null: the policy does not hold it, or nobody else could answer it, so the agent asks at its own terminal. */
export async function request(
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
  const named = newRequest(own);
  const seq = await publish('input.requested', { ...fields, request: named });
  return { worker, request: named, seq, input: fields, askMs };
}

/** The operator's answer. Null: there is none in time, or the agent no longer waits (`gone`). */
export async function awaitAnswer(
  service: Service,
  { worker, request: id, seq: askedSeq, input, askMs }: HeldRequest,
  gone: AbortSignal,
  publish: Publish,
): Promise<InputAnswer | null> {
  const late = startTimedSignal(askMs);
  const over = AbortSignal.any([gone, late.signal]);
  const answer = await service.untilAnswered(worker, { request: id, seq: askedSeq }, over).finally(late.clear);
  if (answer !== null || !over.aborted) return answer;
  // From here on nobody can answer it. An answer that is already stored stands before this in the log, and counts.
  const seq = await publish('input.received', { request: id });
  const view = await service.peek(worker, seq);
  if (view?.lastAnswer?.request === id) return view.lastAnswer;
  if (!gone.aborted) await publish('input.requested', input);
  return null;
}

// Input requests of workers, and operators' answers.
import type { Overdue } from './escalation.ts';

/** An open question. `request` null: it has no id, so only the agent's own terminal can answer it. */
export type InputRequest = {
  readonly request: string | null;
  readonly kind: string | null;
  readonly message: string | null;
  readonly tool: string | null;
  readonly detail: string | null;
  readonly since: string;
  /** Time of the `input.requested` entry. */
  readonly seq: number;
  /** It waits for longer than it may without anybody being notified. */
  readonly overdue?: Overdue;
};
/** An operator's answer. */
export type InputAnswer = {
  readonly request: string;
  readonly verdict: 'allow' | 'deny';
  readonly message: string | null;
  readonly by: string;
  readonly at: string;
};

/** `awaitsInput`: whether any request is open. */
export type Inputs = { readonly inputs: readonly InputRequest[]; readonly awaitsInput: boolean };
export const noInputs: Inputs = Object.freeze({ inputs: Object.freeze([]), awaitsInput: false });

/**
 * The questions that an agent asks a person, with their choices as they stand in the input of its tool, and the
 * answers.
 */
export type Choice = { readonly label: string; readonly description: string };
export type Question = { readonly question: string; readonly isMultiple: boolean; readonly choices: readonly Choice[] };

/** More do not fit in what an operator is shown (4,000 characters), so that nothing is spent on them. */
const questionsMax = 100;

/** `detail`: the tool's input as JSON. Null: it is not of questions, or was cut. */
export const readQuestions = (detail: string | null): Question[] | null => questionsIn(tryJson(detail ?? ''));

/** Returns null if the tool's input is not of questions, or of too many. */
export function questionsIn(input: unknown): Question[] | null {
  const { questions } = objectOf(input);
  if (!Array.isArray(questions) || questions.length === 0 || questions.length > questionsMax) return null;
  const read = questions.map(objectOf).map(({ question, multiSelect, multiple, options }) => ({
    question: textOf(question),
    isMultiple: multiSelect === true || multiple === true,
    choices: (Array.isArray(options) ? options.map(objectOf) : []).map((it) => ({
      label: textOf(it.label),
      description: textOf(it.description),
    })),
  }));
  return read.every(({ question, choices }) => question !== '' && choices.every(({ label }) => label !== ''))
    ? read
    : null;
}

/** The message that answers them: of one question its answer, of several an object by their texts. */
export function toMessage(questions: readonly Question[], answers: readonly (readonly string[])[]): string {
  const texts = answers.map((it) => it.join(', '));
  if (questions.length === 1) return texts[0] ?? '';
  return JSON.stringify(Object.fromEntries(questions.map(({ question }, index) => [question, texts[index] ?? ''])));
}

/** An answer names its question by the text: where two read alike it would be given to both. */
export const areDistinct = (questions: readonly Question[]): boolean =>
  new Set(questions.map(({ question }) => question)).size === questions.length;

/** The answer to each of them, in their order. Null: the message does not answer them all, or they are not distinct. */
export function readAnswers(questions: readonly Question[], message: string): string[] | null {
  if (!areDistinct(questions)) return null;
  const byQuestion = questions.length === 1 ? {} : objectOf(tryJson(message));
  const texts = questions.length === 1 ? [message] : questions.map(({ question }) => byQuestion[question]);
  const answers = texts.map(textOf);
  return answers.every((it) => it.trim() !== '') ? answers : null;
}

/** The fields of a tool's input. Null: it is no object, or was cut. */
export function readFields(detail: string): Fields | null {
  const value = tryJson(detail);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

/** Formats it for people: `Which key? (Old, New)`. */
export const describeQuestions = (questions: readonly Question[]): string =>
  questions
    .map(({ question, choices }) =>
      choices.length === 0 ? question : `${question} (${choices.map(({ label }) => label).join(', ')})`,
    )
    .join(' ');

/** Any request in one line, for lists: `Bash: make deploy`, or its questions. */
export function describeRequest({
  kind,
  tool,
  message,
  detail,
}: Pick<InputRequest, 'kind' | 'tool' | 'message' | 'detail'>): string {
  const questions = readQuestions(detail);
  if (questions !== null) return describeQuestions(questions);
  const parts = [tool, message, detail].filter((it) => it !== null);
  return parts.length > 0 ? parts.join(': ') : (kind ?? 'something');
}

/** The same without a tool's whole input, which is for a panel: its message, else the command that it runs. */
export function summarizeRequest(input: Parameters<typeof describeRequest>[0]): string {
  const fields = input.detail === null || readQuestions(input.detail) !== null ? null : readFields(input.detail);
  if (fields === null) return describeRequest(input);
  const command = typeof fields.command === 'string' ? fields.command : null;
  return describeRequest({ ...input, detail: input.message === null ? command : null });
}

type Fields = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns null if it is not JSON. */
function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The question in the reason of an escalation, without the words around it. Lists and terminals show it. */

const prefix = /^The agent asked for a person:\s*/;
const promise = /<promise>[^<]*<\/promise>\s*/g;

export function questionIn(reason: string | null): string | null {
  if (reason === null) return null;
  const question = reason.replace(prefix, '').replace(promise, '').trim();
  return question === '' ? reason : question;
}

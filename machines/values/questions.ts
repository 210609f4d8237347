/** Input requests of workers, and operators' answers. */
import type { Overdue } from './escalation.ts';

/** An open request. `request` is null if it has no id, and then only the agent's own terminal can answer it. */
export type InputRequest = {
  readonly request: string | null;
  readonly kind: string | null;
  readonly message: string | null;
  readonly tool: string | null;
  readonly detail: string | null;
  readonly since: string;
  /** Sequence number of the `input.requested` entry. */
  readonly seq: number;
  /** Set once it has waited long enough to notify people. */
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

export type Choice = { readonly label: string; readonly description: string };
/** A question that an agent asks a person, read from the input of the agent's tool. */
export type Question = { readonly question: string; readonly isMultiple: boolean; readonly choices: readonly Choice[] };

/** More do not fit into the 4,000 characters that an operator sees. */
const questionsMax = 100;

/** `detail`: the tool's input as JSON. Returns null if it holds no questions, or was cut. */
export const readQuestions = (detail: string | null): Question[] | null => questionsIn(tryJson(detail ?? ''));

/** Returns null if the tool's input holds no questions, or too many. */
export function questionsIn(input: unknown): Question[] | null {
  const { questions } = objectOf(input);
  if (!Array.isArray(questions) || questions.length === 0 || questions.length > questionsMax) return null;
  const read = questions.map(objectOf).map(({ question, multiSelect, multiple, options }) => ({
    question: textOf(question),
    isMultiple: multiSelect === true || multiple === true,
    choices: (Array.isArray(options) ? options.map(objectOf) : []).map((choice) => ({
      label: textOf(choice.label),
      description: textOf(choice.description),
    })),
  }));
  return read.every(({ question, choices }) => question !== '' && choices.every(({ label }) => label !== ''))
    ? read
    : null;
}

/**
 * Returns the message with the answers: the bare answer to a single question, otherwise an object keyed by question.
 */
export function toMessage(questions: readonly Question[], answers: readonly (readonly string[])[]): string {
  const texts = answers.map((chosen) => chosen.join(', '));
  if (questions.length === 1) return texts[0] ?? '';
  return JSON.stringify(Object.fromEntries(questions.map(({ question }, index) => [question, texts[index] ?? ''])));
}

/** Answers are keyed by the text of their question, so questions with equal texts cannot be told apart. */
export const areDistinct = (questions: readonly Question[]): boolean =>
  new Set(questions.map(({ question }) => question)).size === questions.length;

/** Returns the answers in the order of the questions, or null if some are missing or the questions are not distinct. */
export function readAnswers(questions: readonly Question[], message: string): string[] | null {
  if (!areDistinct(questions)) return null;
  const byQuestion = questions.length === 1 ? {} : objectOf(tryJson(message));
  const texts = questions.length === 1 ? [message] : questions.map(({ question }) => byQuestion[question]);
  const answers = texts.map(textOf);
  return answers.every((answer) => answer.trim() !== '') ? answers : null;
}

/** Returns the fields of a tool's input, or null if it is not an object or was cut. */
export function readFields(detail: string): Fields | null {
  const value = tryJson(detail);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

/** Formats questions for people: `Which key? (Old, New)`. */
export const describeQuestions = (questions: readonly Question[]): string =>
  questions
    .map(({ question, choices }) =>
      choices.length === 0 ? question : `${question} (${choices.map(({ label }) => label).join(', ')})`,
    )
    .join(' ');

/** Describes a request in one line, for lists: `Bash: make deploy`, or its questions. */
export function describeRequest({
  kind,
  tool,
  message,
  detail,
}: Pick<InputRequest, 'kind' | 'tool' | 'message' | 'detail'>): string {
  const questions = readQuestions(detail);
  if (questions !== null) return describeQuestions(questions);
  const parts = [tool, message, detail].filter((part) => part !== null);
  return parts.length > 0 ? parts.join(': ') : (kind ?? 'something');
}

/** Like `describeRequest`, but replaces the tool's whole input by the message or, without a message, the command. */
export function summarizeRequest(input: Parameters<typeof describeRequest>[0]): string {
  const fields = input.detail === null || readQuestions(input.detail) !== null ? null : readFields(input.detail);
  if (fields === null) return describeRequest(input);
  const command = typeof fields.command === 'string' ? fields.command : null;
  return describeRequest({ ...input, detail: input.message === null ? command : null });
}

type Fields = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns null for invalid JSON. */
function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const prefix = /^The agent asked for a person:\s*/;
const promise = /<promise>[^<]*<\/promise>\s*/g;

/** Extracts the question from the reason of an escalation, for lists and terminals. */
export function questionIn(reason: string | null): string | null {
  if (reason === null) return null;
  const question = reason.replace(prefix, '').replace(promise, '').trim();
  return question === '' ? reason : question;
}

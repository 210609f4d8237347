/** The questions of a tool's input as text for people, short enough for the log and always whole JSON, so that all are answered. */
import { type Question, readQuestions } from '../../service/questions.ts';
import { hideSecrets } from './secrets.ts';
import { cutMiddle } from './text.ts';

/** A question that is cut to less says nothing. */
const questionCharsMin = 40;

/**
 * With values in the usual shapes of secrets hidden. What is too long goes without the choices' descriptions, then without
 * the choices, then with its questions cut. Only input that is not of questions, or of too many, is no JSON then.
 * @returns at most `max` UTF-16 units
 */
export function fitQuestions(input: object | undefined, max: number): string {
  const text = hideSecrets(JSON.stringify(input ?? {}));
  if (text.length <= max) return text;
  const questions = readQuestions(text);
  const shorter = questions === null ? undefined : shorten(questions, max).find((it) => it.length <= max);
  return shorter ?? cutMiddle(text, max);
}

/** As `fitQuestions` says them. Null: what is shown of the input does not say all its questions. */
export const fittedQuestions = (input: object | undefined, max: number): Question[] | null =>
  readQuestions(fitQuestions(input, max));

function shorten(questions: readonly Question[], max: number): string[] {
  const toText = (each: (question: Question) => object) => JSON.stringify({ questions: questions.map(each) });
  const shorter = [
    toText(({ question, isMultiple, choices }) => ({
      ...{ question, multiple: isMultiple, options: choices.map(({ label }) => ({ label })) },
    })),
  ];
  for (let chars = max; chars >= questionCharsMin; chars = Math.floor(chars / 2))
    shorter.push(
      toText(({ question, isMultiple }) => ({ question: cutMiddle(question, chars), multiple: isMultiple })),
    );
  return shorter;
}

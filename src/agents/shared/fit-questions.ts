/**
 * The questions of a tool's input as text for people: short enough for the log, and always whole JSON, so that every
 * question can be answered.
 */
import { type Question, questionsIn, readQuestions } from '../../../machines/values/questions.ts';
import { hideSecrets, searchedPerShown, shownInput, shownJson } from './secrets.ts';
import { cutMiddle } from './text.ts';

/** A question that is cut to less says nothing. */
const questionCharsMin = 40;

/**
 * With values in the usual shapes of secrets hidden. What is too long goes without the choices' descriptions, then without
 * the choices, then with its questions cut. Only input that is not of questions, or of too many, is no JSON then.
 * @returns at most `max` UTF-16 units
 */
export function fitQuestions(input: object | undefined, max: number): string {
  const whole = shownJson(input ?? {}, max);
  if (whole !== null && whole.length <= max) return whole;
  for (const shorter of shorten(questionsIn(input) ?? [], max)) if (shorter.length <= max) return shorter;
  return shownInput(input ?? {}, max);
}

/** As `fitQuestions` says them. Null: what is shown of the input does not say all its questions. */
export const fittedQuestions = (input: object | undefined, max: number): Question[] | null =>
  readQuestions(fitQuestions(input, max));

function* shorten(questions: readonly Question[], max: number): Generator<string> {
  if (questions.length === 0) return;
  const withChoices = questions.map(({ question, isMultiple, choices }) => ({
    question,
    multiple: isMultiple,
    options: choices.map(({ label }) => ({ label })),
  }));
  const shown = shownJson({ questions: withChoices }, max);
  if (shown !== null) yield shown;
  const searchedMax = Math.floor((max * searchedPerShown) / questions.length);
  const hidden = questions.map((it) => ({ ...it, question: hideSecrets(cutMiddle(it.question, searchedMax)) }));
  for (let chars = max; chars >= questionCharsMin; chars = Math.floor(chars / 2)) {
    const cut = hidden.map((it) => ({ question: cutMiddle(it.question, chars), multiple: it.isMultiple }));
    yield JSON.stringify({ questions: cut });
  }
}

/**
 * Shortens the questions in a tool's input to fit the log. The result stays valid JSON, so that every question can be
 * answered.
 */
import { type Question, questionsIn, readQuestions } from '../../../machines/values/questions.ts';
import { hideSecrets, searchedPerShown, shownInput, shownJson } from './secrets.ts';
import { cutMiddle } from './text.ts';

/** A question cut shorter than this is meaningless. */
const questionCharsMin = 40;

/**
 * Hides secrets. If the result is too long, drops the descriptions of the choices, then the choices, then cuts the
 * questions. The result is valid JSON unless the input has no questions, or too many.
 * @returns at most `max` UTF-16 units
 */
export function fitQuestions(input: object | undefined, max: number): string {
  const whole = shownJson(input ?? {}, max);
  if (whole !== null && whole.length <= max) return whole;
  for (const shorter of shorten(questionsIn(input) ?? [], max)) if (shorter.length <= max) return shorter;
  return shownInput(input ?? {}, max);
}

/** The questions as `fitQuestions` shows them. Null if it cannot show all of them. */
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
  const hidden = questions.map(({ question, isMultiple }) => ({
    question: hideSecrets(cutMiddle(question, searchedMax)),
    multiple: isMultiple,
  }));
  for (let chars = max; chars >= questionCharsMin; chars = Math.floor(chars / 2)) {
    const cut = hidden.map(({ question, multiple }) => ({ question: cutMiddle(question, chars), multiple }));
    yield JSON.stringify({ questions: cut });
  }
}

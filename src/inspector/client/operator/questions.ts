/** The questions of an agent with their choices, as Claude Code's `AskUserQuestion` has them in its input. Pure. */

export type Choice = { readonly label: string; readonly description: string };
export type Question = { readonly question: string; readonly isMultiple: boolean; readonly choices: readonly Choice[] };

/** Null: the text is not of questions, or was cut. */
export function readQuestions(detail: string | null): Question[] | null {
  const { questions } = objectOf(parse(detail ?? ''));
  if (!Array.isArray(questions) || questions.length === 0) return null;
  const read = questions.map(objectOf).map(({ question, multiSelect, options }) => ({
    question: textOf(question),
    isMultiple: multiSelect === true,
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

type Fields = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

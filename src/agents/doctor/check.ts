/**
 * Checks of the doctor are tables: a row has the name of what it asks, and answers with what was found and how to fix it.
 * One runner asks them in their order, and says whom they are about.
 */

/** A line of the doctor's report, and how to fix what it reports. */
export type Finding = Answer & {
  /** `service`, or an agent's name. */
  readonly about: string;
};
export type Answer = {
  /** `warn`: it works, but maybe not as expected. `skip`: not checked. */
  readonly state: 'ok' | 'warn' | 'bad' | 'skip';
  readonly text: string;
  readonly fix?: string;
};

export const ok = (text: string): Answer => ({ state: 'ok', text });
export const warn = (text: string, fix: string): Answer => ({ state: 'warn', text, fix });
export const bad = (text: string, fix: string): Answer => ({ state: 'bad', text, fix });
export const skip = (text: string): Answer => ({ state: 'skip', text });

type Answers = Answer | readonly Answer[];
/** Rows by their names. No answer: there is nothing to check. */
export type Checks<Subject> = Readonly<Record<string, (subject: Subject) => Answers | Promise<Answers>>>;

/** Asks one row after the other: each may start a program. */
export async function runChecks<Subject>(checks: Checks<Subject>, subject: Subject): Promise<Answer[]> {
  const found: Answer[] = [];
  for (const ask of Object.values(checks)) found.push(...[await ask(subject)].flat());
  return found;
}

export const findingsAbout = (about: string, answers: readonly Answer[]): Finding[] =>
  answers.map(({ state, ...rest }) => ({ state, about, ...rest }));

/** A rule of a seed document, in our words, with the tests that show it. */
export type Rule = {
  readonly seed: string;
  /** The part of the seed in which it stands. */
  readonly rule: string;
  readonly says: string;
  /** `path under test/ › describe › title`; under `conformance/` a file of cases and the name of one. */
  readonly test: readonly string[];
  /** What is otherwise here, and why. */
  readonly differs?: string;
};

type Row = readonly [says: string, test: string | readonly string[], differs?: string];

/** The rules of one part of a seed. */
export const part = (seed: string, rule: string, rows: readonly Row[]): Rule[] =>
  rows.map(([says, test, differs]) => ({
    seed,
    rule,
    says,
    test: typeof test === 'string' ? [test] : test,
    ...(differs === undefined ? {} : { differs }),
  }));

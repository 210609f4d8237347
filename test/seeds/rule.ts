/**
 * The rules of the seed documents, in our words. A rule is its own test: `claim` is the title, `check` the body. The
 * tables of docs/seeds.md are made of the same rows.
 */
import type { Stage } from './stage.ts';

/** Must assert something: a check without an assertion fails. */
export type Check = (stage: Stage) => void | Promise<void>;
export type Rule = {
  readonly claim: string;
  /** What is different here, and why. */
  readonly differs: string | null;
  readonly check: Check;
};
/** A heading of a seed document. */
export type Part = { readonly name: string; readonly rules: readonly Rule[] };
export type Seed = { readonly number: string; readonly title: string; readonly parts: readonly Part[] };

export const part = (name: string, ...rules: readonly Rule[]): Part => ({ name, rules });

/** A rule that holds as the seed has it. */
export const holds = (claim: string, check: Check): Rule => ({ claim, differs: null, check });

/** A rule that holds in another form: the check proves what `here` says. */
export const differs = (claim: string, here: string, check: Check): Rule => ({ claim, differs: here, check });

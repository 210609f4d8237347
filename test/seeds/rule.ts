/**
 * The rules of the seed documents, in our words. A rule is a test with the title `claim` and the body `check`, or
 * names the case of test/conformance that shows it. The tables of docs/seeds.md are made of the same rows.
 */
import type { Stage } from './stage.ts';

/** Must assert something: a check without an assertion fails. */
export type Check = (stage: Stage) => void | Promise<void>;
export type Rule = {
  readonly claim: string;
  /** The difference in stopgate, with a reason after "because" or "since". */
  readonly differs: string | null;
  readonly proof: Check | Case;
};
/** A case of `test/conformance/<topic>.json`. */
export type Case = { readonly topic: string; readonly name: string };
/** A heading of a seed document. */
export type Part = { readonly name: string; readonly rules: readonly Rule[] };
export type Seed = { readonly number: string; readonly title: string; readonly parts: readonly Part[] };

export const part = (name: string, ...rules: readonly Rule[]): Part => ({ name, rules });

/** A rule that applies as in the seed. */
export const holds = (claim: string, proof: Check | Case): Rule => ({ claim, differs: null, proof });

/** A rule that applies in another form. `here` describes the form, and the proof shows it. */
export const differs = (claim: string, here: string, proof: Check | Case): Rule => ({
  claim,
  differs: here,
  proof,
});

export const inCase = (topic: string, name: string): Case => ({ topic, name });

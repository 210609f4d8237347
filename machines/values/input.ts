/** What a worker asks of a person, and what an operator answers. */

/** An open question. `request` null: it has no id, so only the agent's own terminal can answer it. */
export type InputRequest = {
  readonly request: string | null;
  readonly kind: string | null;
  readonly message: string | null;
  readonly tool: string | null;
  readonly detail: string | null;
  readonly since: string;
  /** Of the entry that asked. */
  readonly seq: number;
};
/** An operator's answer. */
export type InputAnswer = {
  readonly request: string;
  readonly verdict: 'allow' | 'deny';
  readonly message: string | null;
  readonly by: string;
  readonly at: string;
};

/** `awaitsInput`: some are open. */
export type Inputs = { readonly inputs: readonly InputRequest[]; readonly awaitsInput: boolean };
export const noInputs: Inputs = Object.freeze({ inputs: Object.freeze([]), awaitsInput: false });

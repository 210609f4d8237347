/** Input requests of workers, and operators' answers. */

/** An open question. `request` null: it has no id, so only the agent's own terminal can answer it. */
export type InputRequest = {
  readonly request: string | null;
  readonly kind: string | null;
  readonly message: string | null;
  readonly tool: string | null;
  readonly detail: string | null;
  readonly since: string;
  /** Time of the `input.requested` entry. */
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

/** `awaitsInput`: whether any request is open. */
export type Inputs = { readonly inputs: readonly InputRequest[]; readonly awaitsInput: boolean };
export const noInputs: Inputs = Object.freeze({ inputs: Object.freeze([]), awaitsInput: false });

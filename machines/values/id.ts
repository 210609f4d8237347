/** Ids: what names a fleet, worker, task, queue, policy, check, hook, runner, attempt or step (docs/protocol.md §1). */

export const idLengthMax = 128;

/** An id is one subject token: a letter or digit, then up to 127 letters, digits, `_` or `-`. */
export const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/** A step's: an id, or that of its task and its own with a slash between. */
export const stepIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}(\/[A-Za-z0-9][A-Za-z0-9_-]{0,127})?$/;

export const isStepId = (text: string): boolean => stepIdPattern.test(text);

export const isId = (text: string): boolean => idPattern.test(text);

/** `seq-` and a sequence number: such ids are made for attempts that name none, so an entry may only repeat one. */
const generatedPattern = /^seq-\d+$/;

/** Says why an attempt may not begin under this id; null: it may. */
export const attemptIdFault = (attempt: string | undefined): string | null =>
  attempt !== undefined && generatedPattern.test(attempt)
    ? `attempt ${attempt}: ids of this form are made for attempts without an id; choose another one, or leave it out`
    : null;

/** Returns the words that follow the text in a message. */
export const idFault =
  'is not an id: it must start with a letter or digit and contain only letters, digits, _ and - (128 at most)';

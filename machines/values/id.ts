/**
 * Ids of fleets, workers, tasks, queues, policies, checks, hooks, runners, attempts and steps (docs/protocol.md §1).
 */

export const idLengthMax = 128;

/** An id is one subject token: a letter or digit, then up to 127 letters, digits, `_` or `-`. */
export const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/** The id of a step: an id, or `<task>/<step>`. */
export const stepIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}(\/[A-Za-z0-9][A-Za-z0-9_-]{0,127})?$/;

export const isStepId = (text: string): boolean => stepIdPattern.test(text);

export const isId = (text: string): boolean => idPattern.test(text);

/** Attempts without an id get `seq-<sequence number>`. Entries may use such an id only to repeat that attempt. */
const generatedPattern = /^seq-\d+$/;

/** Returns the reason why a new attempt may not use this id, or null. */
export const attemptIdFault = (attempt: string | undefined): string | null =>
  attempt !== undefined && generatedPattern.test(attempt)
    ? `attempt ${attempt}: ids of this form are made for attempts without an id; choose another one, or leave it out`
    : null;

/** Follows the rejected text in messages. */
export const idFault =
  'is not an id: it must start with a letter or digit and contain only letters, digits, _ and - (128 at most)';

/** Ids: what names a fleet, worker, task, queue, policy, check, hook, runner, attempt or step (docs/protocol.md §1). */

export const idLengthMax = 128;

/** One subject token: a letter or digit, then up to 127 letters, digits, `_` or `-`. */
export const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/** A step's: an id, or that of its task and its own with a slash between. */
export const stepIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}(\/[A-Za-z0-9][A-Za-z0-9_-]{0,127})?$/;

export const isStepId = (text: string): boolean => stepIdPattern.test(text);

export const isId = (text: string): boolean => idPattern.test(text);

/** What follows the text in a message. */
export const idFault =
  'is not an id: it must start with a letter or digit and contain only letters, digits, _ and - (128 at most)';

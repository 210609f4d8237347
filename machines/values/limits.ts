/**
 * Bounds of what is folded (docs/protocol.md §2). Constants, since all replicas must agree on what is refused.
 * Characters are code points.
 */

export const payloadBytesMax = 65_536;
/** Objects and arrays within each other. Deeper, a walk over the fields could overflow the stack of a replica. */
export const jsonDepthMax = 100;

/** A title or reason in an entry. */
export const titleLengthMax = 2_000;

export const filesMax = 5_000;
export const pathLengthMax = 1_024;
/** Of a worker's list, in UTF-8. */
export const filesBytesMax = 524_288;

/** On a task, and within all of them together. */
export const hooksMax = 64;
export const hookMembersMax = 256;

export const rulesMax = 256;
export const ruleLengthMax = 128;
export const globLengthMax = 256;

/** Of one worker. */
export const backgroundMax = 1_000;
export const scopesMax = 64;
export const labelsMax = 64;
export const heldTasksMax = 1_000;

/** The name of who acknowledges, answers, resolves or retires. */
export const operatorNameLengthMax = 200;

/** Open questions of one worker to a person, and their texts: a bound on what is held, far above what agents ask at once. */
export const inputsMax = 16;
export const requestLengthMax = 128;
export const inputToolLengthMax = 200;
export const inputMessageLengthMax = 2_000;
export const inputDetailLengthMax = 4_000;

/** Unstopped tasks that name one task in their `after`; tasks that one task names there. */
export const dependentsMax = 1_000;
export const afterMax = 1_000;

/** Of a `policy.set`: policies; checks of all of them, with their members; values of its JSON. */
export const policiesMax = 256;
export const policyChecksMax = 256;
export const policyValuesMax = 4_096;

/** What an agent names by any text: background work, scopes, tools. */
export const nameLengthMax = 1_024;

/** Of a decision, where longer texts are cut in the middle. */
export const reasonLengthMax = 500;
export const nextPromptLengthMax = 4_000;
export const feedbackLengthMax = 2_000;
export const decisionBytesMax = 65_536;

/** How long what is stopped is remembered, where no policy set says otherwise: seven days (protocol.md §15). */
export const forgetMsDefault = 604_800_000;

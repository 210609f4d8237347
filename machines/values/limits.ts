/**
 * Bounds of what is folded (docs/protocol.md §2). Constants, since all replicas must agree on what is refused.
 * Characters are code points.
 */

export const payloadBytesMax = 65_536;
/** Objects and arrays may nest this deep. A walk over deeper ones could overflow a replica's stack. */
export const jsonDepthMax = 100;

/** A title or reason in an entry. */
export const titleLengthMax = 2_000;

export const filesMax = 5_000;
export const pathLengthMax = 1_024;
/** Paths of a worker's list in all, in UTF-8. */
export const filesBytesMax = 524_288;

/** Hooks of a task, and members within all of them together. */
export const hooksMax = 64;
export const hookMembersMax = 256;

export const rulesMax = 256;
export const ruleLengthMax = 128;
export const globLengthMax = 256;

/** Members of a worker's lists and maps. */
export const backgroundMax = 1_000;
export const scopesMax = 64;
export const labelsMax = 64;
export const heldTasksMax = 1_000;
/** Calls of tools that run at once: agents start a dozen in parallel. */
export const callsMax = 64;

/** A worker's folder: Linux opens no path that is longer. */
export const cwdLengthMax = 4_096;

/** Commands that a worker keeps for `ran` checks, and the code points kept of each: the beginning says what ran. */
export const commandsMax = 32;
export const commandLengthMax = 300;

/** The name of the source that reports a worker's usage. */
export const sourceLengthMax = 128;

/** The name of an operator who acknowledges, answers, resolves, pauses or retires. */
export const operatorNameLengthMax = 200;

/** A pause with an end lasts seven days at most, so that a forgotten one ends. */
export const pauseMsMax = 604_800_000;

/** Open input requests of one worker, and their texts: far more than agents ask at once. */
export const inputsMax = 16;
export const requestLengthMax = 128;
export const inputToolLengthMax = 200;
export const inputMessageLengthMax = 2_000;
export const inputDetailLengthMax = 4_000;

/** Unstopped tasks that have a task in their `after`; tasks in one `after`. */
export const dependentsMax = 1_000;
export const afterMax = 1_000;

/** Queues with a reported depth: whoever may report may name any. */
export const reportedQueuesMax = 1_000;

/** Sizes of a `policy.set`: policies, their checks (members included), values of its JSON. */
export const policiesMax = 256;
export const policyChecksMax = 256;
export const policyValuesMax = 4_096;

/** When a reported promise was detected, as its reporter says. An ISO time has 24 to 35 characters. */
export const detectedAtMax = 64;

/** Names that are no ids: of background work, scopes, tools. */
export const nameLengthMax = 1_024;

/** Texts of a decision, longer ones are cut in the middle; and its JSON, in bytes. */
export const reasonLengthMax = 500;
export const nextPromptLengthMax = 4_000;
export const feedbackLengthMax = 2_000;
export const decisionBytesMax = 65_536;

/**
 * Stopped workers and tasks are remembered this long, unless a policy set says otherwise: seven days (protocol.md §15).
 */
export const forgetMsDefault = 604_800_000;

/**
 * People are notified after this time of a request that waits for a person, and of a queue that nobody attends
 * (protocol.md §8).
 */
export const waitingMsDefault = 1_800_000;
export const unattendedMsDefault = 600_000;

/**
 * The size of everything that a fleet keeps of its workers and tasks (`machines/fleet/state-size.ts`): 500,000 small
 * workers, or 8,600 with plans of 62 KB. That is 0.6 GB of heap, twice as much if texts are not Latin, and Node's own
 * limit is 2 GB or more on a machine with 8 GB.
 */
export const stateSizeMax = 536_870_912;

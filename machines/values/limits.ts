/**
 * Limits on what is folded (docs/protocol.md §2). They are constants because all replicas must refuse the same entries.
 * Lengths are in code points.
 */

export const payloadBytesMax = 65_536;
/** Maximum nesting of objects and arrays. Walking deeper ones could overflow a replica's stack. */
export const jsonDepthMax = 100;

/** Titles and reasons in entries. */
export const titleLengthMax = 2_000;

export const filesMax = 5_000;
export const pathLengthMax = 1_024;
/** Total size of the paths that a worker keeps, in UTF-8. */
export const filesBytesMax = 524_288;

/** Hooks of a task, and the members of all these hooks together. */
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
/** Tool calls open at once. Agents start about a dozen in parallel. */
export const callsMax = 64;

/** A worker's folder. PATH_MAX of Linux. */
export const cwdLengthMax = 4_096;

/** Commands that a worker keeps for `ran` checks, and the length kept of each: the beginning identifies the command. */
export const commandsMax = 32;
export const commandLengthMax = 300;

/** The source of a usage report. */
export const sourceLengthMax = 128;

/** An operator's name. */
export const operatorNameLengthMax = 200;

/** A pause with an end lasts at most seven days, so that a forgotten one ends. */
export const pauseMsMax = 604_800_000;

/** Open input requests of one worker, and the lengths of their texts. Agents ask far fewer at once. */
export const inputsMax = 16;
export const requestLengthMax = 128;
export const inputToolLengthMax = 200;
export const inputMessageLengthMax = 2_000;
export const inputDetailLengthMax = 4_000;

/** Unstopped tasks that name the same task in `after`, and tasks in one `after`. */
export const dependentsMax = 1_000;
export const afterMax = 1_000;

/** Queues with a reported depth. Reporters can invent any number of names. */
export const reportedQueuesMax = 1_000;

/** Limits of a `policy.set`: policies, checks including members, and JSON values. */
export const policiesMax = 256;
export const policyChecksMax = 256;
export const policyValuesMax = 4_096;

/** The time at which a reporter detected a promise. An ISO time has 24 to 35 characters. */
export const detectedAtMax = 64;

/** Names that need not be ids: of background work, scopes and tools. */
export const nameLengthMax = 1_024;

/** Texts of a decision; longer ones are cut in the middle. The last is the size of its JSON in bytes. */
export const reasonLengthMax = 500;
export const nextPromptLengthMax = 4_000;
export const feedbackLengthMax = 2_000;
export const decisionBytesMax = 65_536;

/**
 * How long stopped workers and tasks are remembered unless the policy set says otherwise: seven days (protocol.md §15).
 */
export const forgetMsDefault = 604_800_000;

/**
 * After this time people are notified of an unanswered request, and of an unattended queue, unless the policy set says
 * otherwise (protocol.md §8).
 */
export const waitingMsDefault = 1_800_000;
export const unattendedMsDefault = 600_000;

/**
 * The total size of a fleet's workers and tasks (`machines/fleet/state-size.ts`): 500,000 small workers, or 8,600 with
 * plans of 62 KB. That is 0.6 GB of heap, or twice as much with non-Latin texts. Node's default limit is at least 2 GB
 * on a machine with 8 GB.
 */
export const stateSizeMax = 536_870_912;

/**
 * Limits the cost of an evaluation. Anyone who may register hooks and report files decides how much there is to match,
 * and each replica folds it. So the work is counted, not timed, and ends at the same step on all replicas.
 */

/** `left`: steps of matching. `matches`: of each glob, whether it matched any of the files. */
export type Work = { left: number; readonly matches: Map<string, boolean> };

/**
 * About two milliseconds, twice in a stop. A character of a path against 32 parts of a glob is a step, a path is four,
 * a glob a thousand: 5,000 paths of 35 characters can be matched by a glob that begins and ends with `*`.
 */
export const workMax = 200_000;

export const createWork = (left = workMax): Work => ({ left, matches: new Map() });

export const tooMuchWork = 'matching its files took more steps than an evaluation may';

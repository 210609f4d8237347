/**
 * How much an evaluation may cost. Whoever may register hooks and report files decides what there is to match, and each
 * replica folds it: so the work is counted, never timed, and ends at the same step on all of them.
 */

/** `left`: steps of matching. `matches`: of each glob, whether it matched any of the files. */
export type Work = { left: number; readonly matches: Map<string, boolean> };

/** A few milliseconds. One character of a path against one part of a glob is a step, and so is each path. */
export const workMax = 1_000_000;

export const createWork = (left = workMax): Work => ({ left, matches: new Map() });

export const tooMuchWork = 'matching its files took more steps than an evaluation may';

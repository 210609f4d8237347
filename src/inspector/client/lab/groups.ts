/** Differences in groups: which policy, guard or cause decides now, and which then. */
import type { WhatIfDifference } from '../../messages.ts';

export const groupings = ['policy', 'guard', 'cause'] as const;
export type Grouping = (typeof groupings)[number];
export type Group = { readonly title: string; readonly differences: readonly WhatIfDifference[] };

/** The largest first; what cannot be told is last. */
export function groupDifferences(differences: readonly WhatIfDifference[], by: Grouping): Group[] {
  const groups = new Map<string, WhatIfDifference[]>();
  for (const it of differences) {
    const title = titleOf(it, by);
    const group = groups.get(title);
    if (group === undefined) groups.set(title, [it]);
    else group.push(it);
  }
  const rank = ({ differences: [first] }: Group) => (first?.after === null ? 1 : 0);
  return [...groups]
    .map(([title, found]) => ({ title, differences: found }))
    .sort((a, b) => rank(a) - rank(b) || b.differences.length - a.differences.length);
}

function titleOf({ before, after, guards, missingCheck }: WhatIfDifference, by: Grouping): string {
  if (after === null)
    return missingCheck === null ? 'it would still be held' : `the log has no result of ${missingCheck}`;
  if (by === 'policy') return change(before.policy.name, after.policy.name);
  return by === 'cause' ? change(before.cause, after.cause) : change(guards[0] ?? 'none', guards[1] ?? 'none');
}

const change = (before: string, after: string): string => (before === after ? before : `${before} → ${after}`);

/**
 * Step lists that several workers share: a session and its sub-agents, the members of a team, and sessions with the
 * same `CLAUDE_CODE_TASK_LIST_ID`. A step that one of them completes is completed for all.
 *
 * Membership is kept in memory, not in the log. After a restart, a worker joins again with its next call about its
 * plan. Until then it may keep a step open that another worker has completed, and be blocked for it. That is the safe
 * direction, and the agent's next `TaskList` corrects it.
 */
import { setNewest } from '../../set-newest.ts';
import type { WorkerEntry } from '../agent.ts';

/** The oldest are evicted. A team has about ten members. */
const listsMax = 1_000;
const membersMax = 64;

export type StepStatus = { readonly step: string; readonly status: string };

export type SharedPlans = {
  /** Records the workers whose plan these entries change as members of the lists, and returns the other members. */
  join(lists: readonly string[], entries: readonly WorkerEntry[]): readonly string[];
};

export function createSharedPlans(): SharedPlans {
  const members = new Map<string, Map<string, true>>();
  return {
    join(lists, entries) {
      const writers = new Set(entries.filter(({ type }) => changesPlan(type)).map(({ id }) => id));
      if (writers.size === 0) return [];
      const others = new Set<string>();
      for (const list of lists) {
        const known = members.get(list) ?? new Map<string, true>();
        for (const worker of writers) setNewest(known, worker, true, membersMax);
        setNewest(members, list, known, listsMax);
        for (const worker of known.keys()) if (!writers.has(worker)) others.add(worker);
      }
      return [...others];
    },
  };
}

const changesPlan = (type: string): boolean => type === 'step.updated' || type === 'plan.updated';

/** The states that these entries set for individual steps. */
export const statusesIn = (entries: readonly WorkerEntry[]): readonly StepStatus[] =>
  entries.flatMap(({ type, data }) => {
    const { step, status } = data as Partial<StepStatus>;
    return type === 'step.updated' && step !== undefined && status !== undefined ? [{ step, status }] : [];
  });

/**
 * Lists of steps that several workers share: a session and its sub-agents, the members of a team, and sessions that name one
 * list (`CLAUDE_CODE_TASK_LIST_ID`). A step that one of them completes is completed for all that have it.
 *
 * Which workers share a list is remembered here, and not in the log. After a restart a worker is known again with its next
 * call about its plan. Until then a step of it stays open that another has completed, which blocks its stop: the strict
 * mistake, and its own list of the steps (`TaskList`) corrects it.
 */
import { setNewest } from '../../newest.ts';
import type { WorkerEntry } from '../agent.ts';

/** The oldest give way. A team has some ten members. */
const listsMax = 1_000;
const membersMax = 64;

export type StepStatus = { readonly step: string; readonly status: string };

export type SharedPlans = {
  /** Notes that these entries change lists, and returns the other workers that share one. */
  join(lists: readonly string[], entries: readonly WorkerEntry[]): readonly string[];
};

export function createSharedPlans(): SharedPlans {
  const members = new Map<string, Map<string, true>>();
  return {
    join(lists, entries) {
      const writers = new Set(entries.filter(({ type }) => isOfPlan(type)).map(({ id }) => id));
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

const isOfPlan = (type: string): boolean => type === 'step.updated' || type === 'plan.updated';

/** The states that these entries give to single steps. */
export const statusesIn = (entries: readonly WorkerEntry[]): readonly StepStatus[] =>
  entries.flatMap(({ type, data }) => {
    const { step, status } = data as Partial<StepStatus>;
    return type === 'step.updated' && step !== undefined && status !== undefined ? [{ step, status }] : [];
  });

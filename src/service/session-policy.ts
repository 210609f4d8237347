/** sessionPolicy: the policy of an agent's next session. judging: the checks and hooks that judge a worker's work. */
import { type Check, type Fleet, isEffectful, policyInForce } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';

/** The policy of an agent's next session. */
export type SessionPolicy = {
  readonly name: string;
  /** All checks, including the members of groups. */
  readonly checks: readonly Check[];
  /**
   * The runners for checks that read a folder. Empty if the service runs them itself. If there are several, the
   * worker's label "runner" selects one.
   */
  readonly runners: readonly string[];
};

/**
 * `policy` is the one that the agent's hooks name, or null. Rules of `assign` for labels or single workers are not
 * applied, since neither is known before the session starts.
 */
export function sessionPolicy({ fleet }: Host, agent: string, policy: string | null): SessionPolicy {
  const session = { worker: '', agent, labels: {}, policy, profile: null, tasks: [] };
  const found = policyInForce(fleet, session);
  const { runner, runners, checks } = found.policy;
  return { name: found.name, checks: flatten(checks), runners: runner === null ? runners : [runner] };
}

/** The checks and hooks that judge a worker's work, as far as its view does not say. */
export type Judging = {
  /**
   * The names of its policy's checks that inspect the work itself (`isEffectful`), including the members of groups. All
   * others judge what the agent has reported.
   */
  readonly inspecting: ReadonlySet<string>;
  /** Whether a task that it holds has an enabled hook. */
  readonly hasHooks: boolean;
};

export function judgingOf(fleet: Fleet, worker: string): Judging {
  const context = fleet.workers.read(worker)?.snapshot.context.worker;
  if (context === undefined) return { inspecting: new Set(), hasHooks: false };
  const { checks } = policyInForce(fleet, context).policy;
  const inspecting = flatten(checks).filter(isEffectful);
  const hasHooks = context.tasks.some((task) =>
    fleet.tasks.get(task)?.snapshot.context.hooks.some(({ enabled }) => enabled),
  );
  return { inspecting: new Set(inspecting.map(({ name }) => name)), hasHooks };
}

const flatten = (checks: readonly Check[]): readonly Check[] =>
  checks.flatMap((check) => (check.kind === 'all' || check.kind === 'any' ? flatten(check.of) : [check]));

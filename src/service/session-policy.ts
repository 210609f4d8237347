/** sessionPolicy: which policy will the next session of an agent get? judging: what judges the work of a worker? */
import { type Check, type EffectfulCheck, type Fleet, policyInForce } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';

/** What the next session of an agent gets. */
export type SessionPolicy = {
  readonly name: string;
  /** All checks, members of groups among them. */
  readonly checks: readonly Check[];
  /**
   * The runners of checks that look into a folder; empty: the service runs them. If there are several, the worker's
   * label names one.
   */
  readonly runners: readonly string[];
};

/** `policy`: what its hooks name; null: none. Labels and single workers that `assign` names are not known before. */
export function sessionPolicy({ fleet }: Host, agent: string, policy: string | null): SessionPolicy {
  const session = { worker: '', agent, labels: {}, policy, profile: null, tasks: [] };
  const found = policyInForce(fleet, session);
  const { runner, runners, checks } = found.policy;
  return { name: found.name, checks: flatten(checks), runners: runner === null ? runners : [runner] };
}

/** What judges the work of a worker, beyond what its view says. */
export type Judging = {
  /**
   * The names of its policy's checks that look at the work itself (`files`, `git`, `command`, `remote`), members of groups
   * among them. The others judge what the agent has reported.
   */
  readonly inspecting: ReadonlySet<string>;
  /** A hook of a task that it holds is enabled. */
  readonly hasHooks: boolean;
};

export function judgingOf(fleet: Fleet, worker: string): Judging {
  const context = fleet.workers.read(worker)?.snapshot.context.worker;
  if (context === undefined) return { inspecting: new Set(), hasHooks: false };
  const { checks } = policyInForce(fleet, context).policy;
  const inspecting = flatten(checks).filter(({ kind }) => inspectingKinds.has(kind));
  const hasHooks = context.tasks.some((task) =>
    fleet.tasks.get(task)?.snapshot.context.hooks.some(({ enabled }) => enabled),
  );
  return { inspecting: new Set(inspecting.map(({ name }) => name)), hasHooks };
}

const inspectingKinds: ReadonlySet<string> = new Set<EffectfulCheck['kind']>(['files', 'git', 'command', 'remote']);

const flatten = (checks: readonly Check[]): readonly Check[] =>
  checks.flatMap((check) => (check.kind === 'all' || check.kind === 'any' ? flatten(check.of) : [check]));

/** sessionPolicy: which policy will the next session of an agent get, and what does it check? Nothing is stored. */
import { type Check, policyInForce } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';

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

const flatten = (checks: readonly Check[]): readonly Check[] =>
  checks.flatMap((check) => (check.kind === 'all' || check.kind === 'any' ? flatten(check.of) : [check]));

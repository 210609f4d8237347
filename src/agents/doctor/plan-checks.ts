/** Do policies look at a plan that an agent's sessions cannot keep? */
import type { Check, Policy } from '../../../machines/index.ts';
import type { PlanTools } from '../setup/setup.ts';
import { type Finding, ok, warn } from './finding.ts';

type Policies = ReadonlyMap<string, Policy>;

/** What becomes of stops without a plan. `passing`, `blocking`: names of policies. */
type Plans = { readonly passing: readonly string[]; readonly blocking: readonly string[] };

/** Null: no policy looks at the plan. */
export function describePlans(policies: Policies): string | null {
  const { passing, blocking } = findPlans(policies);
  if (passing.length + blocking.length === 0) return null;
  return [
    ...(passing.length === 0 ? [] : [`the plan check of ${passing.join(', ')} passes without a plan`]),
    ...(blocking.length === 0 ? [] : [`${blocking.join(', ')} requires a plan that it cannot make`]),
  ].join(', and ');
}

/** @param init the command that writes the agent's settings */
export function checkPlanTools(
  agent: string,
  { state, why, variable }: PlanTools,
  policies: Policies,
  init: string,
): Finding {
  if (state === 'on') return ok(agent, `its plan tools are on (${why})`);
  const effect = describePlans(policies);
  if (effect === null) return ok(agent, `its plan tools are off (${why}), and no policy looks at the plan`);
  const fix = state === 'refused' ? `set ${variable} to 1 there` : `${init}, which sets ${variable}=1`;
  return warn(agent, `its plan tools are off (${why}): ${effect}`, fix);
}

function findPlans(policies: Policies): Plans {
  const plans = { passing: [] as string[], blocking: [] as string[] };
  for (const [name, { checks }] of policies) {
    const found = flatten(checks).filter((check) => check.kind === 'plan');
    if (found.length > 0) plans[found.some(({ required }) => required) ? 'blocking' : 'passing'].push(name);
  }
  return plans;
}

const flatten = (checks: readonly Check[]): readonly Check[] =>
  checks.flatMap((check) => (check.kind === 'all' || check.kind === 'any' ? flatten(check.of) : [check]));

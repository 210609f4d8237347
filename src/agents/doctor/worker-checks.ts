/** Checks which sessions of an agent have called the service, and which policies they will be judged by. */
import { relative } from 'node:path';
import { z } from 'zod';
import type { Check, Policy } from '../../../machines/index.ts';
import type { DayBudget } from '../../../machines/policy/budget.ts';
import type { Config } from '../../config/config.ts';
import type { PlanTools } from '../setup/setup.ts';
import { type Answer, ok, skip, warn } from './doctor.ts';
import { askHttp } from './session.ts';

const listSchema = z.object({
  items: z.array(z.object({ worker: z.string(), cwd: z.string().nullable(), lastSeen: z.string() })),
  next: z.string().nullable(),
});

type Question = {
  readonly http: string;
  readonly fleet: string;
  readonly token: string | null;
  readonly agent: string;
  readonly cwd: string;
  /** The scopes of the settings that have our hooks. */
  readonly scopes: readonly string[];
  readonly ago: (time: string) => string;
};

export async function checkWorkers({ http, fleet, token, agent, cwd, scopes, ago }: Question): Promise<Answer> {
  const reply = await askHttp(`${http}/api/${fleet}/list/workers?agent=${agent}&limit=1000`, token);
  const read = listSchema.safeParse(typeof reply === 'string' ? null : reply.body);
  if (!read.success) return skip(`the service does not list the workers of fleet '${fleet}'`);
  const { items, next } = read.data;
  if (items.length === 0) {
    return scopes.length === 0
      ? skip('no session has called the service')
      : warn(
          'its hooks are in place, but no session has ever called',
          'start a new session in this folder, prompt it, then run this again',
        );
  }
  const here = items.filter((worker) => worker.cwd !== null && isWithin(worker.cwd, cwd)).length;
  const last =
    items
      .map(({ lastSeen }) => lastSeen)
      .sort()
      .at(-1) ?? '';
  const count = `${items.length}${next === null ? '' : ' or more'} session${items.length === 1 ? '' : 's'}`;
  const by =
    scopes.length === 0
      ? 'through settings elsewhere'
      : `${here} in this folder, through the ${scopes.join(' and ')} settings`;
  return ok(`${count} called, ${by}; the last one ${ago(last)}`);
}

function isWithin(folder: string, root: string): boolean {
  const route = relative(root, folder);
  return route === '' || (route !== '..' && !route.startsWith('../') && !route.startsWith('/'));
}

type Policies = ReadonlyMap<string, Policy>;

/**
 * Names of policies with a plan check. A stop without a plan passes under some of them and is blocked by the others.
 */
type Plans = { readonly passing: readonly string[]; readonly blocking: readonly string[] };

/** Describes the effect of missing plan tools. Null if no policy has a plan check. */
export function describePlans(policies: Policies): string | null {
  const { passing, blocking } = findPlans(policies);
  if (passing.length + blocking.length === 0) return null;
  return [
    ...(passing.length === 0 ? [] : [`the plan check of policy ${passing.join(', ')} passes without a plan`]),
    ...(blocking.length === 0 ? [] : [`policy ${blocking.join(', ')} requires a plan that it cannot make`]),
  ].join(', and ');
}

/** @param init the command that writes the agent's settings */
export function checkPlanTools({ state, why, variable }: PlanTools, policies: Policies, init: string): Answer {
  if (state === 'on') return ok(`its plan tools are on (${why})`);
  const effect = describePlans(policies);
  if (effect === null) return ok(`its plan tools are off (${why}), and no policy looks at the plan`);
  const fix = state === 'refused' ? `set ${variable} to 1 there` : `${init}, which sets ${variable}=1`;
  return warn(`its plan tools are off (${why}): ${effect}`, fix);
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

/** The policies that judge an agent's stops, and the fleet's daily budget. */
type KnownPolicies = { readonly policies: Policies; readonly budget: DayBudget | null };
const replySchema = z.object({ seq: z.number().nullable(), text: z.string() });

/**
 * Returns the policies of this folder's stopgate.yaml, otherwise those of the service at `http`. Returns null if
 * neither is available.
 */
export async function findPolicies(config: Config, http: string | null): Promise<KnownPolicies | null> {
  const { file, fleet, token } = config;
  if (file.policyForm !== null) return file.policySet;
  if (http === null) return null;
  const reply = await askHttp(`${http}/api/${fleet}/policy`, token);
  const { data } = replySchema.safeParse(typeof reply === 'string' ? null : reply.body);
  if (data === undefined) return null;
  // Without a sequence number the text is only an example.
  if (data.seq === null) return { policies: new Map(), budget: null };
  const { readConfigFile } = await import('../../config/file-reader.ts');
  const read = readConfigFile(data.text, 'stopgate.yaml');
  return read.ok ? read.file.policySet : null;
}

/** `default` always exists. If the policies are unknown (null), any name may exist. */
export const isUnknownPolicy = (name: string, policies: ReadonlyMap<string, Policy> | null): boolean =>
  policies !== null && name !== 'default' && !policies.has(name);

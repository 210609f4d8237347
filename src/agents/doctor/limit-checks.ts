/**
 * Compares an agent with the policies: how long it waits for a hook, how many blocks it accepts, and whether it reports
 * its usage.
 */
import { checkTimeoutMs, formatDuration, type Policy } from '../../../machines/index.ts';
import type { DayBudget } from '../../../machines/policy/budget.ts';
import { marginSeconds } from '../setup/hook-events.ts';
import type { FoundHook } from '../setup/hook-settings.ts';
import type { LocalContext } from '../setup/local-context.ts';
import type { UsageSetup } from '../setup/usage.ts';
import { type Answer, bad, type CheckContext, ok, warn } from './doctor.ts';
import { type HookedFile, initCommand } from './find-hooks.ts';

export type Limits = {
  /** The event that asks to stop. */
  readonly stopEvent: string;
  /** The event after which `stopWhenComplete` runs its checks. Null if the agent has none. */
  readonly checkedEvent: string | null;
  /** Milliseconds per unit of a hook's timeout. Null if hooks have no timeout. */
  readonly timeoutUnitMs: number | null;
  /** Null if the agent accepts any number of blocks. */
  readonly blockCap: BlockCap | null;
};

export type BlockCap = {
  /** After this number of consecutive blocks the agent stops anyway. */
  readonly blocks: number;
  /** The value that the user has set. Infinity disables the cap; undefined if not set. */
  readonly configured?: (hooked: readonly HookedFile[], env: LocalContext['env']) => number | undefined;
  /** Tells the user how to raise it. @param init the command that rewrites the settings */
  readonly raise?: (init: string) => string;
};

type Policies = ReadonlyMap<string, Policy>;

/** Warns about policies under which a stop may take longer than the agent waits for its hook. */
export function checkTimes(limits: Limits, { file, hooks }: HookedFile, policies: Policies): Answer[] {
  const { stopEvent, timeoutUnitMs } = limits;
  if (timeoutUnitMs === null) return [];
  const stop = hooks.find(({ event, value }) => event === stopEvent && value.async !== true);
  const hookMs = timeoutMs(stop, timeoutUnitMs);
  if (hookMs === null) return [];
  const fix = 'shorten hold or the timeouts of its checks, or raise the timeout of the hook';
  const slow = [...policies].filter(([, policy]) => longestMs(policy) > hookMs);
  return [
    ...slow.map(([name, policy]) => {
      const takes = `a stop may take ${formatDuration(longestMs(policy))} under policy ${name}`;
      return warn(`${takes}, but ${file} waits only ${formatDuration(hookMs)} and then allows it unjudged`, fix);
    }),
    ...checkUnsolicited(limits.checkedEvent, hooks, timeoutUnitMs, policies),
  ];
}

/** Warns about `stopWhenComplete` checks that take longer than the hook after a tool waits. */
function checkUnsolicited(
  checkedEvent: string | null,
  hooks: HookedFile['hooks'],
  unitMs: number,
  policies: Policies,
): Answer[] {
  const hook = hooks.find(({ event }) => event === checkedEvent);
  const hookMs = timeoutMs(hook, unitMs);
  if (hookMs === null) return [];
  // A command gives up slightly before the agent would.
  const waitMs = hook?.value.type === 'http' ? hookMs : hookMs - marginSeconds * 1_000;
  const fix = 'shorten the timeouts of its checks, or remove stopWhenComplete';
  return [...policies]
    .filter(([, policy]) => policy.stopWhenComplete && checksMs(policy) > waitMs)
    .map(([name, policy]) => {
      const takes = `policy ${name} has stopWhenComplete and checks that may take ${formatDuration(checksMs(policy))}`;
      return warn(`${takes}, but the hook after a tool waits only ${formatDuration(waitMs)}`, fix);
    });
}

function timeoutMs(hook: FoundHook | undefined, unitMs: number): number | null {
  const timeout = hook?.value.timeout ?? hook?.value.timeoutSec;
  return typeof timeout === 'number' ? timeout * unitMs : null;
}

/** The longest time for all checks, which run one at a time. Plan and rule checks take no time. */
const checksMs = ({ checks }: Policy): number =>
  checks.reduce(
    (sum, { kind, timeoutMs }) => sum + (kind === 'plan' || kind === 'rules' ? 0 : (timeoutMs ?? checkTimeoutMs)),
    0,
  );
const longestMs = (policy: Policy): number => checksMs(policy) + (policy.persistence?.holdMs ?? 0);

export function checkCap(
  agent: string,
  blockCap: BlockCap | null,
  hooked: readonly HookedFile[],
  { places, policies }: Pick<CheckContext, 'places'> & { readonly policies: Policies },
): Answer[] {
  if (blockCap === null) return [];
  const cap = blockCap.configured?.(hooked, places.env) ?? blockCap.blocks;
  if (cap === Number.POSITIVE_INFINITY) return [ok('its own limit of consecutive blocks is off')];
  const beyond = [...policies]
    .filter(([, { retries }]) => (retries ?? Number.POSITIVE_INFINITY) > cap)
    .map(([name]) => name);
  if (beyond.length === 0)
    return [ok(`its own limit of ${cap} consecutive blocks is not below the retries of any policy`)];
  const text = `it stops after ${cap} consecutive blocks, before the retries of ${beyond.join(', ')} are used up`;
  const { raise } = blockCap;
  const [first] = hooked;
  const toRaise = raise === undefined || first === undefined ? '' : `${raise(initCommand(agent, first))}, or `;
  return [warn(text, `${toRaise}set retries to at most ${cap}`)];
}

/**
 * Budgets in tokens and dollars count what agents report. Checks that this agent reports its usage to the service: a
 * limit in dollars that counts nothing is an error.
 * @param usage null if the agent cannot report its usage
 * @param init the command that connects the agent
 */
export function checkUsage(
  { agent: { title }, places, url, policies, dayBudget }: CheckContext,
  usage: UsageSetup | null,
  init: string,
): Answer[] {
  if (url === '') return [];
  const budgets = budgetsOf(policies, dayBudget);
  const target = usage?.target(places) ?? null;
  const reportBudgets = (text: string, fix: string) =>
    budgets.length === 0 ? [] : [budgets.some(({ inDollars }) => inDollars) ? bad(text, fix) : warn(text, fix)];
  if (usage === null)
    return reportBudgets(
      `${title} cannot report its usage, so ${neverEnd(budgets)}`,
      'also limit turns or time, or publish usage.reported yourself (docs/agents/usage.md)',
    );
  if (target === null)
    return reportBudgets(`it does not report its usage, so ${neverEnd(budgets)}`, howToTurnOn(usage, url, init));
  if (!URL.canParse(target) || new URL(target).origin !== new URL(url).origin)
    return reportBudgets(
      `it reports its usage to ${target} instead of ${url}, so ${neverEnd(budgets)}`,
      'change that, or let a collector forward it (docs/agents/usage.md)',
    );
  const uncounted = usage.inDollars ? [] : budgets.filter(({ inTokens }) => !inTokens);
  if (uncounted.length === 0) return [ok(`it reports its usage to ${target}`)];
  return [bad(`it reports tokens but not dollars, so ${neverEnd(uncounted)}`, 'also limit tokens')];
}

function howToTurnOn({ scopes, environment }: UsageSetup, url: string, init: string): string {
  if (environment === null) {
    const scope = scopes.includes('project') || init.endsWith(' --user') ? '' : ' --user';
    return `${init}${scope} --usage`;
  }
  const variables = Object.entries(environment({ http: url, fleet: undefined })).map((pair) => pair.join('='));
  return `start it with ${variables.join(' ')}`;
}

const neverEnd = (budgets: readonly UsageBudget[]): string =>
  `${budgets.map(({ title }) => title).join(' and ')} never ${budgets.length === 1 ? 'ends' : 'end'} its sessions`;

type UsageBudget = { readonly title: string; readonly inTokens: boolean; readonly inDollars: boolean };

/** The budgets that limit tokens or dollars. */
function budgetsOf(policies: CheckContext['policies'], dayBudget: DayBudget | null): UsageBudget[] {
  const all: (readonly [string, DayBudget | null])[] = [
    ...[...(policies ?? [])].map(([name, { budget }]) => [`the budget of policy ${name}`, budget] as const),
    ['the budget of the day', dayBudget],
  ];
  return all.flatMap(([title, budget]) =>
    budget === null || ((budget.tokens ?? null) === null && (budget.usd ?? null) === null)
      ? []
      : [{ title, inTokens: (budget.tokens ?? null) !== null, inDollars: (budget.usd ?? null) !== null }],
  );
}

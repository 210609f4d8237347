/**
 * Compares what an agent does with what the policies ask for: how long it waits, how many blocks it accepts, and whether it
 * sends what it uses.
 */
import { checkTimeoutMs, formatDuration, type Policy } from '../../../machines/index.ts';
import type { DayBudget } from '../../../machines/policy/budget.ts';
import { marginSeconds } from '../setup/hook-events.ts';
import type { FoundHook } from '../setup/hook-settings.ts';
import type { Places } from '../setup/places.ts';
import type { UsageSetup } from '../setup/usage.ts';
import { type Answer, type CheckContext, ok, warn } from './doctor.ts';
import { type Hooked, initCommand } from './hooked.ts';

export type Limits = {
  /** The event that asks to stop: without its hook no stop is judged. */
  readonly stopEvent: string;
  /** The event after which `stopWhenComplete` checks. Null: the agent has none. */
  readonly checkedEvent: string | null;
  /** The unit of a hook's timeout. Null: hooks have none. */
  readonly timeoutUnitMs: number | null;
  /** It is null if the agent accepts any number of blocks. */
  readonly blockCap: BlockCap | null;
};

export type BlockCap = {
  /** After so many blocks in a row it stops, no matter what it is told. */
  readonly blocks: number;
  /** As the user has set it. Infinity: no cap. Undefined: not set. */
  readonly configured?: (hooked: readonly Hooked[], env: Places['env']) => number | undefined;
  /** The options of `init` that raise it. */
  readonly raise?: string;
};

type Policies = ReadonlyMap<string, Policy>;

/** Compares how long a stop may take by the policies with how long the agent waits for its hook. */
export function checkTimes(limits: Limits, { file, hooks }: Hooked, policies: Policies): Answer[] {
  const { stopEvent, timeoutUnitMs } = limits;
  if (timeoutUnitMs === null) return [];
  const stop = hooks.find(({ event, value }) => event === stopEvent && value.async !== true);
  const hookMs = timeoutMs(stop, timeoutUnitMs);
  if (hookMs === null) return [];
  const fix = 'shorten hold or the timeouts of its checks, or raise the timeout of the hook';
  const slow = [...policies].filter(([, policy]) => longestMs(policy) > hookMs);
  return [
    ...slow.map(([name, policy]) => {
      const takes = `policy ${name} may take ${formatDuration(longestMs(policy))} for a stop`;
      return warn(`${takes}, and ${file} waits ${formatDuration(hookMs)}: then it is allowed unjudged`, fix);
    }),
    ...checkUnsolicited(limits.checkedEvent, hooks, timeoutUnitMs, policies),
  ];
}

/** `stopWhenComplete` checks after tools, for which no agent should wait long. */
function checkUnsolicited(
  checkedEvent: string | null,
  hooks: Hooked['hooks'],
  unitMs: number,
  policies: Policies,
): Answer[] {
  const hook = hooks.find(({ event }) => event === checkedEvent);
  const hookMs = timeoutMs(hook, unitMs);
  if (hookMs === null) return [];
  // A command gives up a little before the agent would.
  const waitMs = hook?.value.type === 'http' ? hookMs : hookMs - marginSeconds * 1_000;
  const fix = 'shorten the timeouts of its checks, or remove stopWhenComplete';
  return [...policies]
    .filter(([, policy]) => policy.stopWhenComplete && checksMs(policy) > waitMs)
    .map(([name, policy]) => {
      const takes = `policy ${name} has stopWhenComplete, and its checks may take ${formatDuration(checksMs(policy))}`;
      return warn(`${takes}: after a tool the hook waits ${formatDuration(waitMs)}, a later result is lost`, fix);
    });
}

function timeoutMs(hook: FoundHook | undefined, unitMs: number): number | null {
  const timeout = hook?.value.timeout ?? hook?.value.timeoutSec;
  return typeof timeout === 'number' ? timeout * unitMs : null;
}

/** One check after the other. */
const checksMs = ({ checks }: Policy): number =>
  checks.reduce(
    (sum, { kind, timeoutMs }) => sum + (kind === 'plan' || kind === 'rules' ? 0 : (timeoutMs ?? checkTimeoutMs)),
    0,
  );
const longestMs = (policy: Policy): number => checksMs(policy) + (policy.persistence?.holdMs ?? 0);

export function checkCap(
  agent: string,
  blockCap: BlockCap | null,
  hooked: readonly Hooked[],
  { places, policies }: Pick<CheckContext, 'places'> & { readonly policies: Policies },
): Answer[] {
  if (blockCap === null) return [];
  const cap = blockCap.configured?.(hooked, places.env) ?? blockCap.blocks;
  if (cap === Number.POSITIVE_INFINITY) return [ok('its own cap of blocks in a row is off')];
  const beyond = [...policies]
    .filter(([, { retries }]) => (retries ?? Number.POSITIVE_INFINITY) > cap)
    .map(([name]) => name);
  if (beyond.length === 0) return [ok(`its own cap of ${cap} blocks in a row is not below the retries of any policy`)];
  const text = `it gives up after ${cap} blocks in a row, before the retries of ${beyond.join(', ')} are used up`;
  const { raise } = blockCap;
  const [first] = hooked;
  const init = raise === undefined || first === undefined ? '' : `${initCommand(agent, first)} ${raise}, or `;
  return [warn(text, `${init}retries of ${cap} at most`)];
}

// Budgets in tokens and dollars count what agents report: does this one send it to the service?

/** @param init the command that connects the agent. @param usage null: it cannot send what it uses */
export function checkUsage(
  { agent: { title }, places, url, policies, dayBudget }: CheckContext,
  usage: UsageSetup | null,
  init: string,
): Answer[] {
  if (url === '') return [];
  const budgets = budgetsOf(policies, dayBudget);
  const target = usage?.target(places) ?? null;
  const unless = (text: string, fix: string) => (budgets.length === 0 ? [] : [warn(text, fix)]);
  if (usage === null)
    return unless(
      `${title} reports nothing of what it uses, so ${neverEnd(budgets)}`,
      'limit turns or time, too, or publish usage.reported yourself (docs/agents/usage.md)',
    );
  if (target === null)
    return unless(`it sends nothing of what it uses, so ${neverEnd(budgets)}`, howToTurnOn(usage, url, init));
  if (!URL.canParse(target) || new URL(target).origin !== new URL(url).origin)
    return unless(
      `it sends what it uses to ${target}, not to ${url}, so ${neverEnd(budgets)}`,
      'change that, or let a collector send it on (docs/agents/usage.md)',
    );
  const inVain = usage.inDollars ? [] : budgets.filter(({ inTokens }) => !inTokens);
  if (inVain.length === 0) return [ok(`it sends what it uses to ${target}`)];
  return [warn(`it reports tokens and no dollars, so ${neverEnd(inVain)}`, 'limit tokens, too')];
}

function howToTurnOn({ scopes, environment }: UsageSetup, url: string, init: string): string {
  if (environment === null) {
    const scope = scopes.includes('project') || init.endsWith(' --user') ? '' : ' --user';
    return `${init}${scope} --usage`;
  }
  const variables = Object.entries(environment({ http: url, fleet: undefined })).map((pair) => pair.join('='));
  return `start it with ${variables.join(' ')}`;
}

const neverEnd = (budgets: readonly Named[]): string =>
  `${budgets.map(({ of }) => of).join(' and ')} never ${budgets.length === 1 ? 'ends' : 'end'} its sessions`;

type Named = { readonly of: string; readonly inTokens: boolean };

/** Returns the budgets that count what is reported. */
function budgetsOf(policies: CheckContext['policies'], dayBudget: DayBudget | null): Named[] {
  const all: (readonly [string, DayBudget | null])[] = [
    ...[...(policies ?? [])].map(([name, { budget }]) => [`the budget of policy ${name}`, budget] as const),
    ['the budget of the day', dayBudget],
  ];
  return all.flatMap(([of, budget]) =>
    budget === null || ((budget.tokens ?? null) === null && (budget.usd ?? null) === null)
      ? []
      : [{ of, inTokens: (budget.tokens ?? null) !== null }],
  );
}

/** Budgets in tokens and dollars count what agents report: does this one send it to the service? */
import type { DayBudget } from '../../../machines/policy/budget.ts';
import type { UsageSetup } from '../setup/usage.ts';
import { type Answer, ok, warn } from './check.ts';
import type { CheckContext } from './doctor.ts';

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

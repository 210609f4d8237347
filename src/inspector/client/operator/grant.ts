/** How much of a used-up budget an operator grants: which limit is used up, and the amount typed for it. Pure. */
import type { BudgetLine, WorkerView } from '../../../../machines/index.ts';
import { formatDuration, parseDuration } from '../../../../machines/values/time.ts';
import { type BudgetKind, budgetKinds, type GrantedAmounts } from '../../../../machines/values/usage.ts';
import { amount } from '../actor/timers.ts';

type View = Pick<WorkerView, 'escalation' | 'lastDecision'> & Partial<Pick<WorkerView, 'budgets'>>;

/**
 * Returns the limit for which the worker was escalated, as it was then. Null if it was escalated for something else, or
 * if the view no longer says which limit it was: that of a task that it no longer holds, or that was raised since.
 */
export function limitUsedUp({ escalation, lastDecision, budgets = [] }: View): BudgetLine | null {
  if (escalation?.budget === undefined) return null;
  const input = lastDecision?.seq === escalation.seq ? lastDecision.verdicts.at(-1)?.input : undefined;
  const { kind, used, limit, configured } = (input ?? {}) as Partial<BudgetLine>;
  if (kind !== undefined && budgetKinds.includes(kind) && typeof used === 'number' && typeof limit === 'number')
    return { per: escalation.budget, kind, used, limit, ...(typeof configured === 'number' && { configured }) };
  return budgets.find(({ per, used, limit }) => per === escalation.budget && used >= limit) ?? null;
}

const units: Readonly<Record<BudgetKind, string>> = {
  usd: 'dollars',
  tokens: 'tokens',
  turns: 'turns',
  time: 'of time',
};
export const unitOf = ({ kind }: BudgetLine): string => units[kind];

/** What is granted without a choice. */
const defaultOf = ({ limit, configured }: BudgetLine): number => configured ?? limit;

/** The text of the field before anybody has typed. */
export const defaultText = (line: BudgetLine): string =>
  line.kind === 'time' ? formatDuration(defaultOf(line)) : String(defaultOf(line));

/** What the field accepts: a regular expression, and how to say it. */
export const formOf = ({ kind }: BudgetLine): { readonly pattern: string; readonly title: string } => {
  if (kind === 'time') return { pattern: '\\d{1,12}(\\.\\d{1,3})?(ms|s|m|h|d)', title: 'A time such as 30m or 2h' };
  if (kind === 'usd')
    return { pattern: '\\d{1,6}(\\.\\d{1,9})?', title: 'Dollars, such as 5 or 0.5, less than a million' };
  return { pattern: '\\d{1,12}', title: `A whole number of ${kind}` };
};

/** Reads the field. Null grants what is configured: it is empty, not changed, or not understood. */
export function readGrant(line: BudgetLine, text: string): GrantedAmounts | null {
  const typed = text.trim();
  const { kind } = line;
  if (!new RegExp(`^(?:${formOf(line).pattern})$`).test(typed)) return null;
  const value = kind === 'time' ? parseDuration(typed) : Number(typed);
  return value === null || value === defaultOf(line) ? null : { [kind]: value };
}

const pastOf: Readonly<Record<BudgetLine['per'], string>> = {
  session: 'in this session',
  prompt: 'since its prompt',
  task: 'for its task',
  day: 'today, by all agents',
};

/** Why the worker is over its budget: `Used $10.02 of $10.00 in this session.` */
export const whyOver = ({ per, kind, used, limit, configured }: BudgetLine): string => {
  const limitText = `${amount(kind, limit)}${kind === 'tokens' || kind === 'turns' ? ` ${kind}` : ''}`;
  const ofWhat = configured === undefined ? limitText : `the ${limitText} granted`;
  return `Used ${amount(kind, used)} of ${ofWhat} ${pastOf[per]}.`;
};

/** The amounts that an operator chose: `$5.00, 10 turns`. */
export const amountsText = (amounts: GrantedAmounts): string =>
  budgetKinds
    .flatMap((kind) => {
      const value = amounts[kind];
      if (value === undefined) return [];
      return [kind === 'tokens' || kind === 'turns' ? `${amount(kind, value)} ${kind}` : amount(kind, value)];
    })
    .join(', ');

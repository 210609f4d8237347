/** Texts of the amounts of a budget. The page uses them, so they are apart from the schemas. */
import { formatDuration } from './time.ts';
import { type BudgetKind, budgetKinds, type GrantedAmounts } from './usage.ts';

/** Formats as `usd 5, time 10m`. */
export const describeAmounts = (amounts: GrantedAmounts): string =>
  budgetKinds
    .flatMap((kind) => {
      const amount = amounts[kind];
      return amount === undefined ? [] : [`${kind} ${amountText(kind, amount)}`];
    })
    .join(', ');

/** Shows even tiny dollar amounts as decimals, without an exponent. */
export function amountText(kind: BudgetKind, amount: number): string {
  if (kind === 'time') return formatDuration(amount);
  const text = String(amount);
  return kind === 'usd' && text.includes('e-') ? amount.toFixed(9).replace(/\.?0+$/, '') : text;
}

/** Shares in percent, as texts. Pure. */
import type { CheckStatistics } from '../../messages.ts';
import { plural } from '../ui/format.ts';

/** Formats a share in percent. Shows 0 % and 100 % only if exact. */
function part(some: number, all: number): string {
  if (all === 0) return '–';
  const percent = (100 * some) / all;
  if (some > 0 && percent < 1) return '<1 %';
  if (some < all && percent > 99) return '>99 %';
  return `${Math.round(percent)} %`;
}

/** How many of all runs passed. A run that timed out or could not start has not. */
export const passedText = ({ passed, runs }: Pick<CheckStatistics, 'passed' | 'runs'>): string => part(passed, runs);

/** How often results differ, and the number of pairs compared. */
export const flakyText = ({ differing, compared }: Pick<CheckStatistics, 'differing' | 'compared'>): string =>
  `${part(differing, compared)} of ${plural(compared, 'pair')}`;

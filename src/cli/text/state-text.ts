/** Formats states, presence and times for people. */
import type { State, UsageView, ViewedPresence } from '../../../machines/index.ts';
import { isDone, type Plan } from '../../../machines/policy/plan.ts';
import { formatDuration, parseIsoTime } from '../../../machines/values/time.ts';
import { type Colors, clean, cut } from '../../terminal/text.ts';

type Paint = (text: string) => string;

export function paintState(state: State, colors: Colors): Paint {
  const paints: Readonly<Partial<Record<string, Paint>>> = {
    working: colors.green,
    validating: colors.cyan,
    blocked: colors.red,
    escalated: colors.magenta,
    stopped: colors.dim,
  };
  return paints[state] ?? ((text) => text);
}

export const paintPresence = (presence: ViewedPresence, colors: Colors): Paint =>
  presence === 'active' ? colors.green : colors.yellow;

/** `3s ago`, or `now` if the log's clock is ahead. Default for `nowMs`: this machine's clock. */
export function formatAgo(at: string, nowMs = Date.now()): string {
  const atMs = parseIsoTime(at);
  if (atMs === null) return at;
  const ms = Math.max(0, nowMs - atMs);
  return ms < 1_000 ? 'now' : `${formatDuration(Math.floor(ms / 1_000) * 1_000)} ago`;
}

/** Says why the shown data is outdated, and its age. @param readMs by this machine's clock */
export function formatOutdated(readMs: number, fault: string, width: number): string {
  const at = new Date(readMs).toISOString();
  const since = ` (as of ${formatClock(at).slice(0, 8)} UTC, ${formatAgo(at)})`;
  return cut(`outdated: ${cut(clean(fault), Math.max(1, width - since.length - 10))}${since}`, width);
}

/** `12:00:03.250` in UTC, like the log. */
export const formatClock = (at: string): string => at.slice(11, 23);

/** `$0.42`, or `2.1M tokens` if no dollars were reported, or null if nothing was reported. */
export function formatUsed({ usd, tokens }: Pick<UsageView, 'usd' | 'tokens'>): string | null {
  if (usd > 0) return `$${formatDollars(usd)}`;
  return tokens === 0 ? null : `${formatTokens(tokens)} tokens`;
}

/** `2.1M`. */
export const formatTokens = (tokens: number): string =>
  new Intl.NumberFormat('en', { notation: 'compact' }).format(tokens);

/** `0.42`. Less than a cent has two significant digits: `0.0006`. */
export const formatDollars = (usd: number): string =>
  usd > 0 && usd < 0.01 ? usd.toFixed(1 - Math.floor(Math.log10(usd))).replace(/0+$/, '') : usd.toFixed(2);

/** `2/5`: two of five steps are done. */
export const formatProgress = (plan: Plan): string => `${plan.filter(isDone).length}/${plan.length}`;

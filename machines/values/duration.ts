/** Durations of configuration: `250ms`, `50s`, `10m`, `2h`, `7d`, or a number of milliseconds (docs/protocol.md §1). */

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** 100 years: from any time of the log it leads to one that a date can still hold. */
export const durationMsMax = 36_525 * unitMs.d;

export const durationPattern = /^\d{1,12}(\.\d{1,3})?(ms|s|m|h|d)$/;

/** The written form in whole milliseconds; null: it is not a duration. */
export function parseDuration(text: string): number | null {
  if (!durationPattern.test(text)) return null;
  const unit = /[a-z]+$/.exec(text)?.[0] as keyof typeof unitMs;
  return Math.round(Number.parseFloat(text) * unitMs[unit]);
}

/** For people: `1h 5m`, `90s`, `250ms`; at most two units, 0 is `0s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return ms === 0 ? '0s' : `${ms}ms`;
  const seconds = Math.round(ms / 1_000);
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = seconds % 60;
  if (hours > 0) return minutes > 0 ? `${hours}h ${minutes}m` : `${hours}h`;
  if (minutes > 0) return rest > 0 ? `${minutes}m ${rest}s` : `${minutes}m`;
  return `${rest}s`;
}

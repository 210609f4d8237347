/** When a schedule of five fields (minute, hour, day, month, weekday) is due, by the clock of this machine. */

/**
 * `once`: it names one time, which is still to come. `over`: it names one time, which is past. `unknown`: it names several.
 * `unreadable`: it is no schedule.
 */
export type CronEnd = { readonly kind: 'once' | 'over' | 'unknown' | 'unreadable' };

/** No agent plans a single wake-up for later. A time beyond is one of next year, so this year's is past. */
const onceMsMax = 14 * 24 * 60 * 60 * 1_000;

export function readCronEnd(schedule: string | undefined, nowMs: number): CronEnd {
  const fields = (schedule ?? '').trim().split(/\s+/);
  const pinned = fields.slice(0, 4).map((field) => (/^\d{1,2}$/.test(field) ? Number(field) : null));
  const [minute, hour, day, month] = pinned;
  if (fields.length !== 5 || !fields.every((field) => /^[\dA-Za-z*?,/#-]+$/.test(field))) return { kind: 'unreadable' };
  if (minute == null || hour == null || day == null || month == null) return { kind: 'unknown' };
  const now = new Date(nowMs);
  const inYear = (year: number) => new Date(year, month - 1, day, hour, minute).getTime();
  const thisYear = inYear(now.getFullYear());
  // It is due in its minute.
  const dueMs = thisYear + 60_000 > nowMs ? thisYear : inYear(now.getFullYear() + 1);
  return { kind: dueMs - nowMs <= onceMsMax ? 'once' : 'over' };
}

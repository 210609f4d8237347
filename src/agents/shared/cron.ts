/** Classifies cron schedules (minute, hour, day, month, weekday), read in this machine's time zone. */

/**
 * `once`: a single time in the future. `over`: a single time in the past. `unknown`: several times. `unreadable`: not a
 * cron schedule.
 */
export type ScheduleKind = 'once' | 'over' | 'unknown' | 'unreadable';

/** No agent schedules a one-time wake-up further ahead. A later date is next year's, so this year's has passed. */
const onceMsMax = 14 * 24 * 60 * 60 * 1_000;

export function classifySchedule(schedule: string | undefined, nowMs: number): ScheduleKind {
  const fields = (schedule ?? '').trim().split(/\s+/);
  const pinned = fields.slice(0, 4).map((field) => (/^\d{1,2}$/.test(field) ? Number(field) : null));
  const [minute, hour, day, month] = pinned;
  if (fields.length !== 5 || !fields.every((field) => /^[\dA-Za-z*?,/#-]+$/.test(field))) return 'unreadable';
  if (minute == null || hour == null || day == null || month == null) return 'unknown';
  const now = new Date(nowMs);
  const inYear = (year: number) => new Date(year, month - 1, day, hour, minute).getTime();
  const thisYear = inYear(now.getFullYear());
  // Due until the end of its minute.
  const dueMs = thisYear + 60_000 > nowMs ? thisYear : inYear(now.getFullYear() + 1);
  return dueMs - nowMs <= onceMsMax ? 'once' : 'over';
}

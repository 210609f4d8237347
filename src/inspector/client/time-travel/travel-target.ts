/** Parses a typed time or entry: `02:13`, `yesterday 14:00`, `2026-11-23 02:13`, `20m ago`, `#4711`. */
import { dateTime } from '../ui/format.ts';

export type TravelTarget = { readonly title: string } & ({ readonly seq: number } | { readonly ms: number });

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
const dayMs = 86_400_000;

/**
 * A time of day later than now means yesterday.
 * @param nowMs by the log's clock
 * @returns null if the text is neither a time nor an entry
 */
export function parseTarget(text: string, nowMs: number): TravelTarget | null {
  const typed = text.trim().toLowerCase();
  const [, seq] = /^(?:#|entry )?(\d{1,15})$/.exec(typed) ?? [];
  if (seq !== undefined) return { title: `Go to entry ${seq}`, seq: Number(seq) };
  const ms = parseTime(typed, nowMs);
  return ms === null ? null : { title: `Go to ${dateTime(ms)}`, ms };
}

function parseTime(typed: string, nowMs: number): number | null {
  const [, count, unit = ''] = /^(\d{1,6}) ?(s|min|m|h|d) ago$/.exec(typed) ?? [];
  if (count !== undefined) return nowMs - Number(count) * (units[unit] ?? 0);
  const [, date] = /^(\d{4}-\d\d-\d\d[ t]\d\d:\d\d(?::\d\d)?(?:\.\d+)?z?)$/.exec(typed) ?? [];
  if (date !== undefined) return validTime(new Date(date.replace(' ', 'T').toUpperCase()));
  const [, day, hour, minute, second = '0'] = /^(?:(today|yesterday) )?(\d{1,2}):(\d\d)(?::(\d\d))?$/.exec(typed) ?? [];
  if (hour === undefined || minute === undefined || Number(hour) > 23 || Number(minute) > 59) return null;
  const local = new Date(day === 'yesterday' ? nowMs - dayMs : nowMs);
  local.setHours(Number(hour), Number(minute), Number(second), 0);
  if (day === undefined && local.getTime() > nowMs) local.setDate(local.getDate() - 1);
  return validTime(local);
}

const validTime = (date: Date): number | null => (Number.isNaN(date.getTime()) ? null : date.getTime());

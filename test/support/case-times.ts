/** Times in the conformance cases, spelled out. */

/** `12:00`, `12:00:30` and `12:00:30.250` are times of one day; anything else stays. */
export function timeOf(clock: string): string {
  const [, minutes, seconds = ':00', fraction = '.000'] = /^(\d\d:\d\d)(:\d\d)?(\.\d{3})?$/.exec(clock) ?? [];
  return minutes === undefined ? clock : `2026-03-02T${minutes}${seconds}${fraction}Z`;
}

/** `"@12:30"` anywhere in an entry's data is that time as a whole ISO time. */
export function spellTimes(value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('@')) return timeOf(value.slice(1));
  if (Array.isArray(value)) return value.map(spellTimes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, spellTimes(member)]));
}

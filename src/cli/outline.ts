/**
 * The shape of a value without its texts, which may be shown to others. Keys, numbers, true and false stay; of a text
 * only the length stays, unless it is a duration. Anything unexpected is hidden.
 */
import { parseDuration } from '../../machines/values/time.ts';

/** Keys in `hidden` are names that somebody chose to be secret, so they are counted and not shown. */
export function outlineOf(value: unknown, hidden: ReadonlySet<string> = new Set()): unknown {
  if (typeof value === 'string') return parseDuration(value) === null ? `${value.length} characters` : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => outlineOf(each, hidden));
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      hidden.has(key) ? `${Object.keys(each ?? {}).length} hidden` : outlineOf(each, hidden),
    ]),
  );
}

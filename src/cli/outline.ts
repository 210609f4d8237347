/**
 * The shape of a value without its texts: what may be shown to somebody else. Keys, numbers and true or false stay; of a
 * text only its length does, unless it is a duration. What nobody thought of is hidden, and not shown.
 */
import { parseDuration } from '../../machines/values/duration.ts';

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

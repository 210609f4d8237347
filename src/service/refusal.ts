/** What became of an entry: the log takes one that makes no sense now too, and its actor then lists it as refused. */
import { isDeepStrictEqual } from 'node:util';
import type { WorkerView } from '../../machines/index.ts';

type Refused = WorkerView['refused'];

/** Why an entry of this type was refused between two views of its actor, or null. */
export function refusalSince(before: Refused, now: Refused, type: string): string | null {
  // The oldest are cut off, so the length tells nothing.
  const last = before.at(-1);
  const seen = last === undefined ? -1 : now.findLastIndex((it) => isDeepStrictEqual(it, last));
  return now.slice(seen + 1).findLast((it) => it.type === type)?.reason ?? null;
}

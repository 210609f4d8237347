/**
 * The claims by a request that their workers have let go of. A request that is repeated gets its task again, while the
 * worker holds it (`claimedBy`) and for two minutes after it let go of it (protocol.md §5): a reply may have been lost
 * while its agent worked on.
 */
import type { TaskContext } from '../../task/context.ts';
import type { Fleet } from '../fleet.ts';

const keptMs = 120_000;
/** Far more than workers let go of in two minutes. The oldest makes room; a repeat of its request claims another task. */
const claimsMax = 10_000;

const keyOf = (worker: string, request: string): string => `${worker}:${request}`;

/** Call it after each step of a task's machine. The oldest claim is the first of the map. */
export function trackPastClaim(fleet: Fleet, task: string, before: TaskContext, after: TaskContext): void {
  const { worker, request } = before;
  if (worker === null || request === null || after.worker === worker) return;
  const { pastClaims, nowMs } = fleet;
  const key = keyOf(worker, request);
  pastClaims.delete(key);
  pastClaims.set(key, { task, atMs: nowMs });
  for (const [oldest, { atMs }] of pastClaims) {
    if (atMs + keptMs > nowMs && pastClaims.size <= claimsMax) break;
    pastClaims.delete(oldest);
  }
}

/** Returns the task that the worker holds by this request, or let go of less than two minutes before `nowMs`; null: none. */
export function claimedBy(fleet: Fleet, worker: string, request: string, nowMs: number): string | null {
  const held = fleet.workers.read(worker)?.snapshot.context.worker.tasks ?? [];
  const found = held.find((task) => fleet.tasks.read(task)?.snapshot.context.request === request);
  if (found !== undefined) return found;
  const past = fleet.pastClaims.get(keyOf(worker, request));
  return past !== undefined && past.atMs + keptMs > nowMs && fleet.tasks.has(past.task) ? past.task : null;
}

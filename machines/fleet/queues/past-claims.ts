/**
 * Released claims of `claim-next` requests. A repeated request gets the same task as before, as long as the worker
 * holds it and for two minutes after (protocol.md §5): the first reply may have been lost.
 */
import type { TaskContext } from '../../task/context.ts';
import type { Fleet } from '../fleet.ts';

const keptMs = 120_000;
/** Far more than workers release in two minutes. The oldest is evicted; repeating its request claims another task. */
const claimsMax = 10_000;

const keyOf = (worker: string, request: string): string => `${worker}:${request}`;

/** Records a released claim. Call it after each step of a task's machine. */
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

/** Returns the task that this request claimed if the worker holds it or released it within two minutes, or null. */
export function claimedBy(fleet: Fleet, worker: string, request: string, nowMs: number): string | null {
  const held = fleet.workers.read(worker)?.snapshot.context.worker.tasks ?? [];
  const found = held.find((task) => fleet.tasks.read(task)?.snapshot.context.request === request);
  if (found !== undefined) return found;
  const past = fleet.pastClaims.get(keyOf(worker, request));
  return past !== undefined && past.atMs + keptMs > nowMs && fleet.tasks.has(past.task) ? past.task : null;
}

/** Blocks that only keep a worker alive are counted separately, and their cap allows the stop. */
import { allow, type GuardScope, type Ruling } from './guard.ts';

export function keepAlive({ worker, attempt }: GuardScope, ruling: Ruling): Ruling {
  const max = attempt.inForce.policy.keepAlives;
  if (max === null || worker.keepAlives < max) return ruling;
  return allow('complete', 'capped', `Kept alive ${worker.keepAlives} times, the most that the policy allows`);
}

/** Blocks that only keep a worker alive count apart, and their cap lets it go. */
import { allow, type GuardScope, type Ruling } from './guard.ts';

export function keepAlive({ worker, attempt }: GuardScope, ruling: Ruling): Ruling {
  const max = attempt.inForce.policy.keepAlives;
  if (max === null || worker.keepAlives < max) return ruling;
  return allow('complete', 'capped', `Kept alive ${worker.keepAlives} times, the most that the policy allows`);
}

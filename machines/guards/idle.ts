/** Guard `idle`: with persistence on, a worker without a task is kept alive until its idle timeout. */
import { formatDuration } from '../values/time.ts';
import type { JudgedWorker } from './attempt.ts';
import type { Idle } from './decision.ts';
import { allow, block, constantPass, decide, type Guard, keepAlive } from './guard.ts';

export const idle: Guard = (scope) => {
  const { worker, attempt } = scope;
  const { nowMs, queue } = attempt.facts;
  if (attempt.inForce.policy.persistence === null) return persistenceOff;
  const input = idleOf(worker, attempt.idleLimitMs, nowMs);
  const { ms, limitMs, remainingMs } = input;
  if (limitMs !== null && ms >= limitMs) {
    const reason = `Idle for ${formatDuration(ms)} of ${formatDuration(limitMs)}, and no task waits`;
    return decide(allow('complete', 'idle-timeout', reason), input);
  }
  if (nowMs < attempt.holdUntilMs) return { kind: 'hold', detail: 'held', input };
  const tasks = worker.tasks.join(', ');
  const stays = remainingMs === null ? '' : ` for ${describeRemaining(remainingMs)}`;
  const reason =
    tasks === ''
      ? `No task waits in queue ${queue}. Stay available${stays} and look again`
      : `No task waits in queue ${queue}, and you still hold ${tasks}. Complete or release it before you stop`;
  return decide(keepAlive(scope, block('idle', reason, `${reason}.`)), input, reason);
};

/** Describes a time in whole minutes, or in seconds if it is less than one, rounded up: `7 more minutes`. */
function describeRemaining(ms: number): string {
  const unit = ms < 60_000 ? 'second' : 'minute';
  const count = Math.ceil(ms / (ms < 60_000 ? 1_000 : 60_000));
  return `${count} more ${unit}${count === 1 ? '' : 's'}`;
}

const persistenceOff = constantPass('idle', 'persistence is off');

/** Idle time counts from the last registration, claim or release, and not while a task is held (seed 004). */
export function idleOf(worker: Pick<JudgedWorker, 'tasks' | 'activeMs'>, limitMs: number | null, nowMs: number): Idle {
  const ms = worker.tasks.length > 0 ? 0 : Math.max(0, nowMs - worker.activeMs);
  return { ms, limitMs, remainingMs: limitMs === null ? null : Math.max(0, limitMs - ms) };
}

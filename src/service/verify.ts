/**
 * verify and verify-task: is the work of this worker complete, is this task complete? Nothing is stored (protocol.md
 * §5).
 */
import { type Decision, viewTask } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { readAttempt } from './decide.ts';
import { checkId } from './parse-input.ts';
import { probeWorker } from './probe.ts';

/**
 * Judges the worker's plan and tasks by `checks` and `hooks` alone.
 * @throws AppError actor.unknown, or stop.incomplete with `details: { decision }`, also if the work could not be judged
 */
export async function verify(
  host: Host,
  replica: string,
  worker: string,
  body: unknown,
  signal: AbortSignal,
): Promise<Decision> {
  readAttempt(worker, body);
  await host.caughtUp();
  if (!host.fleet.workers.has(worker)) throw new AppError('actor.unknown', `worker ${worker} is unknown`);
  return completeOrThrow(await probeWorker(host, replica, worker, body, { signal, scope: 'work' }));
}

/**
 * Returns the decision that completed the task. For a held task, judges it as if its worker stopped now.
 * @throws AppError actor.unknown, or stop.incomplete with `details`: `{ decision }` for a held task, `{ said: true }`
 * for one that only its worker reported as completed
 */
export async function verifyTask(
  host: Host,
  replica: string,
  task: string,
  body: unknown,
  signal: AbortSignal,
): Promise<Decision> {
  checkId('task', task);
  readAttempt(task, body);
  await host.caughtUp();
  const view = viewTask(host.fleet, task);
  if (view === null) throw new AppError('actor.unknown', `task ${task} is unknown`);
  if (view.worker !== null)
    return completeOrThrow(await probeWorker(host, replica, view.worker, body, { signal, scope: { task } }));
  if (view.judged !== null) return host.completion(task);
  if (view.outcome === 'completed')
    throw new AppError(
      'stop.incomplete',
      `task ${task} was only reported as completed by its worker: nobody judged it`,
      { details: { said: true } },
    );
  const state = view.outcome ?? (view.state === 'idle' ? 'not claimed' : view.state);
  throw new AppError('stop.incomplete', `task ${task} is ${state}`);
}

function completeOrThrow(decision: Decision): Decision {
  const isComplete = decision.cause === 'complete' || decision.cause === 'no-policy';
  if (decision.decision === 'allow' && isComplete) return decision;
  throw new AppError('stop.incomplete', decision.reason, { details: { decision } });
}

/** verify: is this worker's work complete? A probe whose only good answer is yes (protocol.md §5). */
import type { Decision } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { readAttempt } from './attempt-fields.ts';
import { probeWorker } from './probe.ts';

/** @throws AppError actor.unknown; stop.incomplete with `details: { decision }`, for a stop that was not judged too */
export async function verify(host: Host, replica: string, worker: string, body: unknown): Promise<Decision> {
  readAttempt(worker, body);
  await host.caughtUp();
  if (!host.fleet.workers.has(worker)) throw new AppError('actor.unknown', `worker ${worker} is unknown`);
  const decision = await probeWorker(host, replica, worker, body);
  const isComplete = decision.cause === 'complete' || decision.cause === 'no-policy';
  if (decision.decision === 'allow' && isComplete) return decision;
  throw new AppError('stop.incomplete', decision.reason, { details: { decision } });
}

/** verify: is this worker's work complete? A probe whose only good answer is yes (protocol.md §5). */
import type { Decision } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { probeWorker } from './probe.ts';

/** @throws AppError stop.incomplete with `details: { decision }` */
export async function verify(host: Host, replica: string, worker: string, body: unknown): Promise<Decision> {
  const decision = await probeWorker(host, replica, worker, body);
  const isComplete = decision.cause === 'complete' || decision.cause === 'no-policy';
  if (decision.decision === 'allow' && isComplete) return decision;
  throw new AppError('stop.incomplete', decision.reason, { details: { decision } });
}

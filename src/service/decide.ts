/** decide: may this worker stop? The attempt is logged and counts (protocol.md §5). */
import type { Decision } from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
import { readAttempt } from './attempt-fields.ts';

export const decide = async (host: Host, worker: string, body: unknown): Promise<Decision> =>
  host.attempt(worker, readAttempt(worker, body));

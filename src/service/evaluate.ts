/** evaluate: lets the hooks of a task judge its current iteration, and stores the result (protocol.md §2 and §7). */
import { type HookResult, readFields } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { checkBody, checkId } from './parse-input.ts';

export async function evaluate(host: Host, task: string, body: unknown): Promise<HookResult> {
  checkId('task', task);
  checkBody(body);
  const address = { area: 'task', fleet: host.fleet.name, id: task, type: 'iteration.validated' } as const;
  const entry = readFields(address, body ?? {});
  if ('code' in entry) throw new AppError('input.bad', entry.message, { issues: entry.issues });
  // Unknown fields are kept in the log.
  return host.evaluate(task, body as object);
}

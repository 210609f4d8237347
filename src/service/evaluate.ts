/** evaluate: what do the hooks of this task say of its iteration? (protocol 2 and 7; seed 001, hook_evaluate) */
import { type HookResult, isTooDeep, readFields, tooDeepMessage } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { checkBytes, checkId } from './decide.ts';

export type Evaluator = { evaluate(task: string, body: unknown): Promise<HookResult> };

export function createEvaluator(host: Host): Evaluator {
  return {
    async evaluate(task, body) {
      checkId('task', task);
      if (isTooDeep(body)) throw new AppError('input.bad', tooDeepMessage);
      checkBytes('request', Buffer.byteLength(JSON.stringify(body ?? {})));
      const address = { area: 'task', fleet: host.fleet.name, id: task, type: 'iteration.validated' } as const;
      const entry = readFields(address, body ?? {});
      if ('code' in entry) throw new AppError('input.bad', entry.message, { issues: entry.issues });
      // What the schema does not know goes into the log as it came.
      return host.evaluate(task, body as object);
    },
  };
}

/** verify: is this worker's work, or this task, complete? */

import { isId } from '../../../machines/values/id.ts';
import { AppError } from '../../errors.ts';
import { defineCommand } from '../command.ts';
import { askAttempt, attemptArgs } from '../stop-attempt.ts';

export const verify = defineCommand({
  args: {
    ...attemptArgs,
    worker: { ...attemptArgs.worker, required: false, description: 'the id of the worker; or name a task' },
    task: { type: 'string', valueHint: 'T', description: 'is this task complete, instead of the work of a worker?' },
  },
  details: [
    'A final check for scripts and CI. It asks about the work alone: whether every check passes, and every hook of the held tasks. It does not matter whether the worker waits, is limited, has used up its retries, or has ended; then the tasks that it held are asked about. Nothing is logged or counted.',
    'With --task: complete if a decision completed the task; a task that is held is judged now. One that its worker only reported as completed is not.',
    'Exit code 0: complete. 1: not complete.',
  ],
  examples: ['stopgate verify w1 && git push', 'stopgate verify --task T-1', 'stopgate verify w1 --json'],
  async run(context) {
    const { worker, task, body } = context.flags;
    if (task === undefined && worker !== undefined) return askAttempt('verify', worker, context);
    // Without a worker the first argument is the JSON.
    if (task !== undefined && body === undefined && (worker === undefined || !isId(worker)))
      return askAttempt('verify-task', task, { ...context, flags: { ...context.flags, body: worker } });
    throw new AppError('input.bad', 'name either a worker or a task: verify WORKER, or verify --task T');
  },
});

/** task: one of them in full. */
import type { TaskView } from '../../../machines/index.ts';
import { formatTask } from '../actor-text.ts';
import { defineCommand, serviceArgs, timeoutArg } from '../command.ts';
import { readId, readTimeout, withRequester } from '../service-call.ts';

export const task = defineCommand({
  args: { task: { type: 'positional', valueHint: 'TASK', description: 'its id' }, ...serviceArgs, ...timeoutArg },
  details: ['Exit code 1: there is no such task.'],
  examples: ['stopgate task T-1', 'stopgate task T-1 --json | jq .hooks'],
  run: async ({ flags, io, out }) => {
    const id = readId('task', flags.task);
    const timeoutMs = readTimeout(flags.timeout);
    return withRequester(flags, io, async (requester) => {
      const view = (await requester.request('get', `task.${id}`, {}, timeoutMs)) as TaskView;
      if (flags.json) await out.json(view);
      else await out.print(...formatTask(view, out.colors, out.width()));
      return 0;
    });
  },
});

/** worker: one of them in full. */
import type { WorkerView } from '../../../machines/index.ts';
import { formatWorker } from '../actor-text.ts';
import { defineCommand, serviceArgs, timeoutArg } from '../command.ts';
import { readId, readTimeout, withRequester } from '../service-call.ts';

export const worker = defineCommand({
  args: { worker: { type: 'positional', valueHint: 'WORKER', description: 'its id' }, ...serviceArgs, ...timeoutArg },
  details: ['Exit code 1: there is no such worker.'],
  examples: ['stopgate worker w1', 'stopgate worker w1 --json | jq .plan'],
  run: async ({ flags, io, out }) => {
    const id = readId('worker', flags.worker);
    const timeoutMs = readTimeout(flags.timeout);
    return withRequester(flags, io, async (requester) => {
      const view = (await requester.request('get', `worker.${id}`, {}, timeoutMs)) as WorkerView;
      if (flags.json) await out.json(view);
      else await out.print(...formatWorker(view, out.colors, out.width()));
      return 0;
    });
  },
});

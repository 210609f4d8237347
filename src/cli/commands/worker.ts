/** worker: one worker in full, with its timeline. */
import type { WorkerView } from '../../../machines/index.ts';
import { formatWorker } from '../actor-text.ts';
import { clientArgs, entriesArg, timeoutArg } from '../client-args.ts';
import { defineCommand } from '../command.ts';
import { withRequester } from '../connection.ts';
import { readEntryCount, readId, readTimeout } from '../option-values.ts';
import { orNone, readWorkerTimeline } from '../timeline.ts';
import { orNamed } from '../unknown-actor.ts';

export const worker = defineCommand({
  args: {
    worker: { type: 'positional', valueHint: 'WORKER', description: 'the id of the worker' },
    ...entriesArg,
    ...clientArgs,
    ...timeoutArg,
  },
  details: [
    'Exit code 1: there is no such worker. Times are in UTC.',
    'The timeline is read from the log with operator credentials; those of "stopgate dev" are found automatically. Without them there is a note instead, and null with --json.',
  ],
  examples: ['stopgate worker w1', 'stopgate worker w1 --entries 100', 'stopgate worker w1 --json | jq .plan'],
  run: async ({ flags, io, out, note }) => {
    const id = readId('worker', flags.worker);
    const timeoutMs = readTimeout(flags.timeout);
    const count = readEntryCount(flags.entries);
    return withRequester(flags, io, async (requester, fleet) => {
      const view = (await orNamed(
        requester.request('get', `worker.${id}`, {}, timeoutMs),
        'worker',
        fleet,
      )) as WorkerView;
      const timeline = count === 0 ? [] : await orNone(readWorkerTimeline(requester, id, count), note);
      if (flags.json) await out.json({ ...view, timeline });
      else await out.print(...formatWorker(view, timeline ?? [], out.colors, out.width()));
      return 0;
    });
  },
});

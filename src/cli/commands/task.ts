/** task: one task in full, with its timeline. */
import type { TaskView } from '../../../machines/index.ts';
import { formatTask } from '../actor-text.ts';
import { clientArgs, entriesArg, timeoutArg } from '../client-args.ts';
import { defineCommand } from '../command.ts';
import { withRequester } from '../connection.ts';
import { readEntryCount, readId, readTimeout } from '../option-values.ts';
import { orNone, readTaskTimeline } from '../timeline.ts';
import { orNamed } from '../unknown-actor.ts';

export const task = defineCommand({
  args: {
    task: { type: 'positional', valueHint: 'TASK', description: 'the id of the task' },
    ...entriesArg,
    ...clientArgs,
    ...timeoutArg,
  },
  details: [
    'Exit code 1: there is no such task. Times are in UTC.',
    'The timeline also has its claims, and the decisions about its holders with the results of its hooks.',
    'It is read from the log with operator credentials; those of "stopgate dev" are found automatically. Without them there is a note instead, and null with --json.',
  ],
  examples: ['stopgate task T-1', 'stopgate task T-1 --entries 100', 'stopgate task T-1 --json | jq .hooks'],
  run: async ({ flags, io, out, note }) => {
    const id = readId('task', flags.task);
    const timeoutMs = readTimeout(flags.timeout);
    const count = readEntryCount(flags.entries);
    return withRequester(flags, io, async (requester, fleet) => {
      const view = (await orNamed(requester.request('get', `task.${id}`, {}, timeoutMs), 'task', fleet)) as TaskView;
      const timeline = count === 0 ? [] : await orNone(readTaskTimeline(requester, id, count), note);
      if (flags.json) await out.json({ ...view, timeline });
      else await out.print(...formatTask(view, timeline ?? [], out.colors, out.width()));
      return 0;
    });
  },
});

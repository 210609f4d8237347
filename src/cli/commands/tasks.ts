/** tasks: all units of work. */
import { defineCommand } from '../command.ts';
import { list, listArgs, queueArg, stateArg } from '../list.ts';
import { taskListing } from '../task-listing.ts';

export const tasks = defineCommand({
  args: { ...stateArg, ...queueArg, ...listArgs },
  details: ['An idle task with a queue waits to be claimed. A stopped task is shown as completed or cancelled.'],
  examples: ['stopgate tasks --state idle --queue main', 'stopgate tasks --watch'],
  run: async (context) => list(taskListing, { state: context.flags.state, queue: context.flags.queue }, context),
});

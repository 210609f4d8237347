/** tasks: all units of work. */
import type { TaskView } from '../../../machines/index.ts';
import { defineCommand } from '../command.ts';
import { list, listArgs, queueArg, sortArg, stateArg } from '../list.ts';
import { taskListing } from '../listing.ts';

/** The outcomes that the list shows for a stopped task. */
const outcomes = ['completed', 'cancelled'] as const;
const taskStateArg = { state: { ...stateArg.state, options: [...stateArg.state.options, ...outcomes] } };

export const tasks = defineCommand({
  args: { ...taskStateArg, ...queueArg, ...sortArg, ...listArgs },
  details: ['An idle task with a queue waits to be claimed. A stopped task is shown as completed or cancelled.'],
  examples: ['stopgate tasks --state idle --queue main', 'stopgate tasks --watch'],
  run: async (context) => {
    const { state, queue } = context.flags;
    const outcome = outcomes.find((each) => each === state);
    if (outcome === undefined) return list(taskListing, { state, queue }, context);
    const listing = { ...taskListing, keeps: (task: TaskView) => task.outcome === outcome };
    return list(listing, { state: 'stopped', queue }, context);
  },
});

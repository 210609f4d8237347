/** workers: the fleet at a glance. */
import { defineCommand } from '../command.ts';
import { agentArg, list, listArgs, presenceArgs, queueArg, readPresence, sortArg, stateArg } from '../list.ts';
import { workerListing } from '../listing.ts';

export const workers = defineCommand({
  args: {
    ...stateArg,
    ...presenceArgs,
    ...queueArg,
    ...agentArg,
    ...sortArg,
    ...listArgs,
  },
  details: [
    'Idle time and retries are shown with their limits. --json prints one array; with --watch, one line per change.',
  ],
  examples: ['stopgate workers --watch', 'stopgate workers --state blocked --json', 'stopgate workers --sort usd'],
  run: async (context) => {
    const { state, queue, agent } = context.flags;
    return list(workerListing, { state, presence: readPresence(context.flags), queue, agent }, context);
  },
});

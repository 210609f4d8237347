/** workers: the fleet at a glance. */
import { AppError } from '../../errors.ts';
import { defineCommand } from '../command.ts';
import { list, listArgs, presenceArg, queueArg, stateArg } from '../list.ts';
import { workerListing } from '../worker-listing.ts';

export const workers = defineCommand({
  args: {
    ...stateArg,
    ...presenceArg,
    stale: { type: 'boolean', description: 'only workers that have been silent for two minutes: --presence stale' },
    ...queueArg,
    agent: { type: 'string', valueHint: 'NAME', description: 'only workers of this agent, e.g. claude' },
    ...listArgs,
  },
  details: [
    'Idle time and retries are shown with their limits. --json prints one array; with --watch, one line per change.',
  ],
  examples: ['stopgate workers --watch', 'stopgate workers --state blocked --json'],
  run: async (context) => {
    const { state, presence, stale, queue, agent } = context.flags;
    if (stale && presence !== undefined && presence !== 'stale') {
      throw new AppError('input.bad', `--stale and --presence ${presence} contradict each other`);
    }
    return list(workerListing, { state, presence: stale ? 'stale' : presence, queue, agent }, context);
  },
});

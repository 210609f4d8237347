/** decide: may this worker stop? */

import { defineCommand } from '../command.ts';
import { askAttempt, attemptArgs } from '../stop-attempt.ts';

export const decide = defineCommand({
  args: attemptArgs,
  details: [
    'Logs an attempt to stop, waits for the decision and prints it, guard by guard.',
    'Exit code 0: it may stop. 1: it may not, and the next prompt tells it what to do.',
  ],
  examples: ['stopgate decide w1', `stopgate decide w1 --stop-reason end_turn --validation 'tests_pass=fail' --json`],
  run: (context) => askAttempt('decide', context.flags.worker, context),
});

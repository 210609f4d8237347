/** probe: would this worker be allowed to stop? */

import { defineCommand } from '../command.ts';
import { askAttempt, attemptArgs } from '../stop-attempt.ts';

export const probe = defineCommand({
  args: attemptArgs,
  details: [
    'Like "decide", but nothing is logged, counted or held: shows what would be decided now.',
    'Exit code 0: it would be allowed to stop. 1: it would not.',
  ],
  examples: ['stopgate probe w1', `stopgate probe w1 --output 'All done. <promise>COMPLETE</promise>'`],
  run: (context) => askAttempt('probe', context.flags.worker, context),
});

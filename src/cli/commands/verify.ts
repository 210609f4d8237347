/** verify: is this worker's work complete? */

import { defineCommand } from '../command.ts';
import { askAttempt, attemptArgs } from '../stop-attempt.ts';

export const verify = defineCommand({
  args: attemptArgs,
  details: [
    'A final check for scripts and CI: complete only if every check and hook passes. A stop that would be allowed because retries are used up, a budget is spent or it needs a person does not count. Nothing is logged or counted.',
    'Exit code 0: complete. 1: not complete.',
  ],
  examples: ['stopgate verify w1 && git push', 'stopgate verify w1 --json'],
  run: (context) => askAttempt('verify', context),
});

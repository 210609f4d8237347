/** Guard 1: a worker that is retired, or whose session has ended, may stop. */
import { allow, decide, type Guard, pass } from './guard.ts';

export const retired: Guard = ({ worker: { ended } }) => {
  const input = { ended };
  if (ended === null) return pass('in service', input);
  return decide(
    allow('complete', 'retired', ended === 'retired' ? 'The worker is retired' : 'The session has ended'),
    input,
  );
};

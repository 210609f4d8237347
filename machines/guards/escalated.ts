/** Guard 2: an escalated worker stops until a person has resolved it. */
import { allow, decide, type Guard, pass } from './guard.ts';

export const escalated: Guard = ({ worker }) => {
  const input = { escalated: worker.escalation !== null };
  if (worker.escalation === null) return pass('not escalated', input);
  const reason = 'Escalated: a person must look at this worker first';
  return decide(allow('escalate', 'escalated', reason), input, 'nobody has resolved it');
};

/** Guard `escalated`: an escalated worker may stop; it waits for a person. */
import { allow, constantPass, decide, type Guard } from './guard.ts';

export const escalated: Guard = ({ worker }) => {
  if (worker.escalation === null) return notEscalated;
  const reason = 'Escalated: a person must look at this worker first';
  return decide(allow('escalate', 'escalated', reason), { escalated: true }, 'nobody has resolved it');
};

const notEscalated = constantPass('escalated', 'not escalated', { escalated: false });

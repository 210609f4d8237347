/** Guard `retired`: a retired worker, or one whose session has ended, may stop. */
import { allow, constantPass, decide, type Guard } from './guard.ts';

export const retired: Guard = ({ worker: { ended } }) => {
  if (ended === null) return inService;
  const reason = ended === 'retired' ? 'The worker is retired' : 'The session has ended';
  return decide(allow('complete', 'retired', reason), { ended });
};

const inService = constantPass('retired', 'in service', { ended: null });

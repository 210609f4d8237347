/** Guard 4: while a usage limit holds, the session pauses. */
import { allow, decide, type Guard, pass } from './guard.ts';

export const limited: Guard = ({ attempt: { facts } }) => {
  const input = { limited: facts.limited };
  if (!facts.limited) return pass('no usage limit', input);
  return decide(allow('continue', 'limited', 'A usage limit holds: the session pauses'), input, 'a limit holds');
};

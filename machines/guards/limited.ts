/** Guard `limited`: while a usage limit applies, the session pauses. */
import { allow, constantPass, decide, type Guard } from './guard.ts';

export const limited: Guard = ({ attempt: { facts } }) => {
  if (!facts.limited) return noLimit;
  const ruling = allow('continue', 'limited', 'A usage limit holds: the session pauses');
  return decide(ruling, { limited: true }, 'a limit holds');
};

const noLimit = constantPass('limited', 'no usage limit', { limited: false });

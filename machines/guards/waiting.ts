/** Guard `waiting`: while background work or a person's input is outstanding, the agent may stop: it will be woken. */
import { allow, constantPass, decide, type Guard } from './guard.ts';

// An agent may name any number of things at any length; a decision must fit into one message.
const shownMax = 20;
const shownLengthMax = 200;
const namedMax = 3;

export const waiting: Guard = ({ worker: { background, awaitsInput } }) => {
  if (background.length === 0 && !awaitsInput) return nothingOutstanding;
  const shown = background.slice(0, shownMax).map(shorten);
  const input = { background: shown, awaitsInput };
  const outstanding = [...shown, ...(awaitsInput ? ["a person's input"] : [])];
  const more = outstanding.length > namedMax ? ', …' : '';
  return decide(allow('continue', 'waiting', `Waiting for ${outstanding.slice(0, namedMax).join(', ')}${more}`), input);
};

const nothingOutstanding = constantPass('nothing outstanding', { background: [], awaitsInput: false });

const shorten = (name: string) => (name.length > shownLengthMax ? `${name.slice(0, shownLengthMax)}…` : name);

/** Guard `promise`: escalates if the agent promises ESCALATE or BLOCKED and the policy reads promises. */
import { type PromiseName, promisesOf } from '../policy/promise.ts';
import { allow, constantPass, decide, type Guard, pass } from './guard.ts';

export const promise: Guard = ({ attempt: { fields, inForce } }) => {
  if (!inForce.policy.promises) return notRead;
  const found = promisesOf(fields);
  const input = { promises: [...found] };
  const name = found.has('ESCALATE') ? 'ESCALATE' : found.has('BLOCKED') ? 'BLOCKED' : null;
  if (name === null) return pass(found.has('COMPLETE') ? 'COMPLETE: the checks still run' : 'none', input);
  const context = textBeside(fields.output ?? '', name);
  const reason = `The agent asked for a person: <promise>${name}</promise>${context === '' ? '' : ` ${context}`}`;
  return decide(allow('escalate', 'escalated', reason), input, name);
};

const notRead = constantPass('promise', 'promises are not read');

/** Returns the text around the promise, which is the agent's question: the end of the output in one line. */
const textBeside = (output: string, name: PromiseName): string =>
  output
    .slice(-4_000)
    .replaceAll(new RegExp(`<promise>\\s*${name}\\s*</promise>`, 'g'), ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(-300);

/**
 * Guard `waiting`: while a person's input is outstanding, the agent may stop, since the input will wake it. While
 * background work is outstanding, it may stop or is blocked until the work has ended (policy `background`).
 */
import { awaitedWork } from '../policy/background.ts';
import { nameOfWork, runningWorkMessage } from '../policy/running-work.ts';
import { allow, block, constantPass, decide, type Guard, keepAlive } from './guard.ts';

// Agents may name any number of things of any length, but a decision must fit into one message.
const shownMax = 20;
const shownLengthMax = 200;
const namedMax = 3;

export const waiting: Guard = (scope) => {
  const { worker, attempt } = scope;
  const { awaitsInput, interactive } = worker;
  const { background: policy } = attempt.inForce.policy;
  const awaited = awaitedWork(worker.background, policy, attempt.facts.nowMs);
  if (awaited.length === 0 && !awaitsInput) return nothingOutstanding;
  const shown = awaited.slice(0, shownMax).map(({ id }) => shorten(id));
  const input = { background: shown, awaitsInput };
  const onStop = policy.onStop ?? (interactive === false ? 'block' : 'allow');
  if (onStop === 'block' && !awaitsInput) {
    const reason = runningWorkMessage(awaited.map(nameOfWork));
    return decide(keepAlive(scope, block('waiting', reason, `${reason}.`)), input, reason);
  }
  const outstanding = [...shown, ...(awaitsInput ? ["a person's input"] : [])];
  const more = outstanding.length > namedMax ? ', …' : '';
  return decide(allow('continue', 'waiting', `Waiting for ${outstanding.slice(0, namedMax).join(', ')}${more}`), input);
};

const nothingOutstanding = constantPass('waiting', 'nothing outstanding', { background: [], awaitsInput: false });

const shorten = (name: string) => (name.length > shownLengthMax ? `${name.slice(0, shownLengthMax)}…` : name);

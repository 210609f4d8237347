/** What an operator's actions do, in words: for one actor, and for several at once. */
import type { Topic } from '../../messages.ts';

export type OperatorAction = 'acknowledge' | 'resume' | 'stop' | 'retire' | 'allow' | 'deny';

type Effect = readonly [one: string, many: string];

/** On what an agent asks, and on retiring, a person decides one at a time. */
const ofWorkers: Readonly<Record<OperatorAction, Effect | readonly [one: string]>> = {
  acknowledge: [
    'You take charge of it. It stays escalated until it is resolved.',
    'You take charge of them. They stay escalated until they are resolved.',
  ],
  resume: [
    'It may continue. Its agent gets your text as the next prompt.',
    'They may continue. Each agent gets your text as its next prompt.',
  ],
  stop: [
    'It stops for good: its next attempt to stop is allowed.',
    'They stop for good: the next attempt of each to stop is allowed.',
  ],
  retire: ['It is done for good: its tasks go back to the queue, and every stop is allowed.'],
  allow: ['The agent may do what it asks for, this once.'],
  deny: ['The agent may not do it. It gets your text as the reason.'],
};

/** A task has no agent. */
const ofTasks: Readonly<Partial<Record<OperatorAction, Effect>>> = {
  resume: [
    'It goes back to its queue, where a worker may claim it.',
    'They go back to their queues, where workers may claim them.',
  ],
  stop: ['It is cancelled.', 'They are cancelled.'],
};

/** One text for each kind of actor; where there are both, it says which. */
export function effectsOf(action: OperatorAction, targets: readonly Pick<Topic, 'entity'>[]): readonly string[] {
  const tasks = targets.filter(({ entity }) => entity === 'task').length;
  const workers = targets.length - tasks;
  const [forWorkers, forTasks] = [ofWorkers[action], ofTasks[action]];
  // What makes no difference to a task is said once, of all.
  if (tasks === 0 || forTasks === undefined) return [pick(forWorkers, targets.length)];
  if (workers === 0) return [pick(forTasks, tasks)];
  return [
    `${workers === 1 ? 'Worker' : 'Workers'}: ${pick(forWorkers, workers)}`,
    `${tasks === 1 ? 'Task' : 'Tasks'}: ${pick(forTasks, tasks)}`,
  ];
}

const pick = ([one, many = one]: Effect | readonly [one: string], count: number): string => (count === 1 ? one : many);

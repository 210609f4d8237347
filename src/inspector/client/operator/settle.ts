/** One action on several actors, and then on the tasks that were escalated with them: what was done, and what was not. */
import { signal } from '@preact/signals';
import type { TaskOfWorker } from '../inbox/find-waiting.ts';
import { namesOf } from './suggestions.ts';

type Topic = { readonly entity: 'worker' | 'task' | 'queue'; readonly id: string };

/** The verdict on the tasks that were escalated with the workers; by itself each stays escalated. */
export type TasksVerdict = { readonly verdict: 'resume' | 'stop'; readonly tasks: readonly TaskOfWorker[] };

type Run<Item> = (item: Item) => Promise<unknown>;
/** `done` and `title`: the words for what succeeded and for what failed. */
type Action<Target> = { targets: readonly Target[]; run: Run<Target>; done: string; title: string };
type Failed<Item> = { readonly item: Item; readonly reason: Error };
type Settled<Item> = { readonly done: readonly Item[]; readonly failed: readonly Failed<Item>[] };

type Outcome<Target> = {
  /** A sentence on what was done, and what was not. */
  readonly text: string;
  /** The error of the first that failed; null: none did. */
  readonly problem: Error | null;
  readonly failed: readonly Target[];
  readonly failedTasks: readonly TaskOfWorker[];
};

/**
 * Runs the action on all targets, then on their tasks. A task is left as it is if the action on its worker failed; a
 * worker that is not a target was resolved before.
 */
export async function settle<Target extends Topic>(
  action: Action<Target>,
  also?: TasksVerdict & { readonly run: Run<TaskOfWorker> },
): Promise<Outcome<Target>> {
  const own = await runAll(action.targets, action.run);
  const unresolved = new Set(own.failed.filter(({ item }) => item.entity === 'worker').map(({ item }) => item.id));
  const theirs = also?.tasks.filter(({ worker }) => !unresolved.has(worker)) ?? [];
  // After its worker: until then a task is a part of that.
  const tasks = also === undefined ? { done: [], failed: [] } : await runAll(theirs, also.run);
  const left = also?.tasks.filter((task) => !tasks.done.includes(task)) ?? [];
  const [failed] = tasks.failed;
  const texts = describeTargets(action, own);
  if (tasks.done.length > 0)
    texts.push(`${also?.verdict === 'stop' ? 'Cancelled' : 'Back in the queue'}: ${idsOf(tasks.done)}`);
  if (left.length > 0)
    texts.push(`Left as before: task ${idsOf(left)}${failed === undefined ? '' : ` (${failed.reason.message})`}`);
  return {
    text: texts.join('. '),
    problem: own.failed[0]?.reason ?? failed?.reason ?? null,
    failed: own.failed.map(({ item }) => item),
    failedTasks: tasks.failed.map(({ item }) => item),
  };
}

async function runAll<Item>(items: readonly Item[], run: Run<Item>): Promise<Settled<Item>> {
  const done: Item[] = [];
  const failed: Failed<Item>[] = [];
  const results = await Promise.allSettled(items.map(run));
  items.forEach((item, index) => {
    const result = results[index];
    if (result?.status === 'rejected') failed.push({ item, reason: result.reason as Error });
    else done.push(item);
  });
  return { done, failed };
}

function describeTargets<Target extends Topic>(
  { targets, done: doneWord, title }: Action<Target>,
  { done, failed }: Settled<Target>,
): string[] {
  const [only] = targets;
  const [first] = failed;
  const isOne = targets.length === 1 && only !== undefined;
  if (first === undefined)
    return [`${doneWord}: ${isOne ? `${only.entity} ${only.id}` : `${done.length} of ${targets.length}`}`];
  if (isOne) return [`${title} failed: ${first.reason.message}`];
  const text = `${title} failed for ${idsOf(failed.map(({ item }) => item))}: ${first.reason.message}`;
  return done.length === 0 ? [text] : [text, `${doneWord}: ${idsOf(done)}`];
}

const idsOf = (items: readonly { readonly id: string }[]): string => namesOf(items.map(({ id }) => id));

/** Describes in words what an operator's actions do: for one actor, and for several at once. */
export type OperatorAction = 'acknowledge' | 'resume' | 'stop' | 'retire' | 'pause' | 'unpause' | 'allow' | 'deny';

type Effect = readonly [one: string, many: string];

const ofWorkers: Readonly<Record<OperatorAction, Effect>> = {
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
  retire: [
    'It is done for good: its tasks go back to the queue, and every stop is allowed.',
    'They are done for good: their tasks go back to the queue, and every stop is allowed.',
  ],
  pause: [
    'While the pause holds, its stops are allowed and not judged, and its tasks go back to their queue. A new pause replaces an older one.',
    'While the pauses hold, their stops are allowed and not judged, and their tasks go back to their queues. A new pause replaces an older one.',
  ],
  unpause: ['Its stops are judged again.', 'Their stops are judged again.'],
  allow: ['The agent may do what it asks for, this once.', 'Each agent may do what it asks for, this once.'],
  deny: ['The agent may not do what it asks for.', 'No agent of them may do what it asks for.'],
};

/** A task has no agent. */
const ofTasks: Readonly<Partial<Record<OperatorAction, Effect>>> = {
  resume: [
    'It goes back to its queue, where a worker may claim it.',
    'They go back to their queues, where workers may claim them.',
  ],
  stop: ['It is cancelled.', 'They are cancelled.'],
};

const ofQueue = 'You see to it that a worker comes. Nobody is reminded any more.';

/** Describes the effect, one text for each kind of actor; where there are both, it says which. */
export function effectsOf(action: OperatorAction, targets: readonly Pick<Topic, 'entity'>[]): readonly string[] {
  if (targets.some(({ entity }) => entity === 'queue')) return [ofQueue];
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

const pick = ([one, many]: Effect, count: number): string => (count === 1 ? one : many);

// What this page has just acted on: so that it can tell its operator's work from that of others.

/** The log's entry of each action; infinite until it is known. */
let ours: ReadonlyMap<string, number> = new Map();

const keyOf = ({ entity, id }: Topic) => `${entity}/${id}`;

/** As `ours`, of the last action, also when its effect has been shown. */
const stored = signal<ReadonlyMap<string, number>>(new Map());

/** Notes the targets of this page's last action, and forgets those before. One that asks something else too stays. */
export function noteOurs(targets: readonly (Topic & { readonly asksMore?: boolean })[]): void {
  const done = targets.filter(({ asksMore }) => asksMore !== true);
  ours = new Map(done.map((item) => [keyOf(item), Number.POSITIVE_INFINITY]));
  stored.value = new Map();
}

/** @param seq the entry of the action on it */
export function noteStored(key: string, seq: number): void {
  if (ours.has(key)) ours = new Map([...ours, [key, seq]]);
  stored.value = new Map([...stored.peek(), [key, seq]]);
}

/** Forgets a target whose change came from somebody else, did not happen, or has been shown. */
export function forgetOurs(key: string): void {
  ours = new Map([...ours].filter(([other]) => other !== key));
}

/** Forgets the actions whose effect is shown: what comes after `seq` is somebody else's. */
export function forgetShown(seq: number): void {
  ours = new Map([...ours].filter(([, untilSeq]) => untilSeq > seq));
}

/** The entry of this page's last action, if it was on this actor; 0: it was not. */
export const storedSeq = (key: string): number => stored.value.get(key) ?? 0;

export const isOurs = (key: string | null): boolean => key !== null && ours.has(key);
export { keyOf as targetKey };

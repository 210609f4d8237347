/**
 * Runs an action on several actors and then on the tasks escalated with them, and reports what succeeded and failed.
 */
import { signal } from '@preact/signals';
import type { TaskOfWorker } from '../inbox/find-waiting.ts';
import { namesOf } from './suggestions.ts';

type Topic = { readonly entity: 'worker' | 'task' | 'queue'; readonly id: string };

/** The verdict on tasks escalated with the workers. Without one, they stay escalated. */
export type TasksVerdict = { readonly verdict: 'resume' | 'stop'; readonly tasks: readonly TaskOfWorker[] };

type Run<Item> = (item: Item) => Promise<unknown>;
/** `done` and `title` are the words for success and failure. */
type Action<Target> = { targets: readonly Target[]; run: Run<Target>; done: string; title: string };
type Failed<Item> = { readonly item: Item; readonly reason: Error };
type Settled<Item> = { readonly done: readonly Item[]; readonly failed: readonly Failed<Item>[] };

type SettleResult<Target> = {
  /** Describes what succeeded and failed. */
  readonly text: string;
  /** The first error, or null. */
  readonly problem: Error | null;
  readonly failed: readonly Target[];
  readonly failedTasks: readonly TaskOfWorker[];
};

/**
 * Runs the action on all targets, then on the tasks. Skips tasks whose worker's action failed. A worker that is not
 * among the targets was resolved earlier.
 */
export async function settle<Target extends Topic>(
  action: Action<Target>,
  also?: TasksVerdict & { readonly run: Run<TaskOfWorker> },
): Promise<SettleResult<Target>> {
  const own = await runAll(action.targets, action.run);
  const unresolved = new Set(own.failed.filter(({ item }) => item.entity === 'worker').map(({ item }) => item.id));
  const theirs = also?.tasks.filter(({ worker }) => !unresolved.has(worker)) ?? [];
  // Only after the workers: until then a task belongs to its worker's item.
  const tasks = also === undefined ? { done: [], failed: [] } : await runAll(theirs, also.run);
  const left = also?.tasks.filter((task) => !tasks.done.includes(task)) ?? [];
  const [failed] = tasks.failed;
  const texts = describeTargets(action, own);
  if (tasks.done.length > 0)
    texts.push(`${also?.verdict === 'stop' ? 'Cancelled' : 'Back in the queue'}: ${idsOf(tasks.done)}`);
  if (left.length > 0)
    texts.push(`Unchanged: task ${idsOf(left)}${failed === undefined ? '' : ` (${failed.reason.message})`}`);
  return {
    text: texts.join('. '),
    problem: own.failed[0]?.reason ?? failed?.reason ?? null,
    failed: own.failed.map(({ item }) => item),
    failedTasks: tasks.failed.map(({ item }) => item),
  };
}

/** Describes an answer that can still be undone. Nothing has happened yet. */
export const describeUnsent = (title: string, ids: readonly string[]): string =>
  `Not sent yet: ${title} ${namesOf(ids)}`;

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

export type OperatorAction = 'acknowledge' | 'resume' | 'stop' | 'retire' | 'pause' | 'unpause' | 'allow' | 'deny';

type Effect = readonly [one: string, many: string];

const workerEffects: Readonly<Record<OperatorAction, Effect>> = {
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
    'They stop for good: the next attempt of each is allowed.',
  ],
  retire: [
    'It is finished for good: its tasks go back to the queue, and every stop is allowed.',
    'They are finished for good: their tasks go back to the queue, and every stop is allowed.',
  ],
  pause: [
    'While it is paused, its stops are allowed without being judged. Its tasks go back to their queue. A new pause replaces an older one.',
    'While they are paused, their stops are allowed without being judged. Their tasks go back to their queues. A new pause replaces an older one.',
  ],
  unpause: ['Its stops are judged again.', 'Their stops are judged again.'],
  allow: ['The agent may proceed this once.', 'Each agent may proceed this once.'],
  deny: ['The agent may not proceed.', 'None of these agents may proceed.'],
};

/** The effect on tasks, which have no agent. */
const taskEffects: Readonly<Partial<Record<OperatorAction, Effect>>> = {
  resume: [
    'It goes back to its queue, where a worker may claim it.',
    'They go back to their queues, where workers may claim them.',
  ],
  stop: ['It is cancelled.', 'They are cancelled.'],
};

const queueEffect = 'You take care of starting a worker. Nobody is reminded again.';

/** Describes the effect of an action. Returns one text per kind of actor, prefixed with the kind if there are both. */
export function effectsOf(action: OperatorAction, targets: readonly Pick<Topic, 'entity'>[]): readonly string[] {
  if (targets.some(({ entity }) => entity === 'queue')) return [queueEffect];
  const tasks = targets.filter(({ entity }) => entity === 'task').length;
  const workers = targets.length - tasks;
  const [forWorkers, forTasks] = [workerEffects[action], taskEffects[action]];
  // If the effect is the same for workers and tasks, describe it once.
  if (tasks === 0 || forTasks === undefined) return [pick(forWorkers, targets.length)];
  if (workers === 0) return [pick(forTasks, tasks)];
  return [
    `${workers === 1 ? 'Worker' : 'Workers'}: ${pick(forWorkers, workers)}`,
    `${tasks === 1 ? 'Task' : 'Tasks'}: ${pick(forTasks, tasks)}`,
  ];
}

const pick = ([one, many]: Effect, count: number): string => (count === 1 ? one : many);

// Tracks what this page has just acted on, to distinguish this operator's changes from those of others.

/** Sequence of each action's entry by target; infinite until known. */
let ownActions: ReadonlyMap<string, number> = new Map();

const keyOf = ({ entity, id }: Topic) => `${entity}/${id}`;

/** Entries of the last action by target. Unlike `ours`, kept after the effect has been shown. */
const stored = signal<ReadonlyMap<string, number>>(new Map());

/** Replaces the tracked targets with those of a new action. A target that also asks something else is not tracked. */
export function trackActions(targets: readonly (Topic & { readonly asksMore?: boolean })[]): void {
  const done = targets.filter(({ asksMore }) => asksMore !== true);
  ownActions = new Map(done.map((item) => [keyOf(item), Number.POSITIVE_INFINITY]));
  stored.value = new Map();
}

/** @param seq the entry of the action */
export function noteStored(key: string, seq: number): void {
  if (ownActions.has(key)) ownActions = new Map([...ownActions, [key, seq]]);
  stored.value = new Map([...stored.peek(), [key, seq]]);
}

/** Stops tracking a target: its action failed, was undone, or its effect has been handled. */
export function untrackAction(key: string): void {
  ownActions = new Map([...ownActions].filter(([other]) => other !== key));
}

/** Stops tracking actions whose effect is shown, given that the page shows entries up to `seq`. */
export function untrackShown(seq: number): void {
  ownActions = new Map([...ownActions].filter(([, untilSeq]) => untilSeq > seq));
}

/** The entry of this page's last action if it was on this actor, otherwise 0. */
export const storedSeq = (key: string): number => stored.value.get(key) ?? 0;

export const isTracked = (key: string | null): boolean => key !== null && ownActions.has(key);
export { keyOf as targetKey };

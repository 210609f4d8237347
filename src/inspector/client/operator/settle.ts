/** One action on several actors, and then on the tasks that were escalated with them: what was done, and what was not. */
import type { Topic } from '../../messages.ts';
import type { TaskOfWorker } from '../inbox/find-waiting.ts';
import { namesOf } from './names.ts';

/** What becomes of the tasks that were escalated with the workers; by itself each stays escalated. */
export type TasksVerdict = { readonly verdict: 'resume' | 'stop'; readonly tasks: readonly TaskOfWorker[] };

type Run<Item> = (item: Item) => Promise<unknown>;
/** `done` and `title`: the words for what succeeded and for what failed. */
type Action<Target> = { targets: readonly Target[]; run: Run<Target>; done: string; title: string };
type Failed<Item> = { readonly item: Item; readonly reason: Error };
type Settled<Item> = { readonly done: readonly Item[]; readonly failed: readonly Failed<Item>[] };

type Outcome<Target> = {
  /** What was done, and what was not. */
  readonly text: string;
  /** Of the first that failed; null: none did. */
  readonly problem: Error | null;
  readonly failed: readonly Target[];
  readonly failedTasks: readonly TaskOfWorker[];
};

/** A task is left as it is if the action on its worker failed. A worker that is not a target was resolved before. */
export async function settle<Target extends Topic>(
  action: Action<Target>,
  also?: TasksVerdict & { readonly run: Run<TaskOfWorker> },
): Promise<Outcome<Target>> {
  const own = await runAll(action.targets, action.run);
  const unresolved = new Set(own.failed.filter(({ item }) => item.entity === 'worker').map(({ item }) => item.id));
  const theirs = also?.tasks.filter(({ worker }) => !unresolved.has(worker)) ?? [];
  // After its worker: until then a task is a part of that.
  const tasks = also === undefined ? { done: [], failed: [] } : await runAll(theirs, also.run);
  const left = also?.tasks.filter((it) => !tasks.done.includes(it)) ?? [];
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
  items.forEach((item, at) => {
    const result = results[at];
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

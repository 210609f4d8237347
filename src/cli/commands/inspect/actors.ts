/** worker, task, workers and tasks: one in full with its timeline, or all as a list. */
import type { TaskView, WorkerView } from '../../../../machines/index.ts';
import { argument, type Context, defineCommand, type Flags } from '../../command.ts';
import { orNamed, withRequester } from '../../connection.ts';
import {
  agentArg,
  list,
  listArgs,
  presenceArgs,
  queueArg,
  readPresence,
  sortArg,
  stateArg,
} from '../../listing/list.ts';
import { taskListing, workerListing } from '../../listing/listing.ts';
import { clientArgs, entriesArg, readEntryCount, readId, readTimeout, timeoutArg } from '../../option-values.ts';
import { formatTask, formatWorker } from '../../text/actor-text.ts';
import { orNone, readTaskTimeline, readWorkerTimeline } from '../../text/timeline.ts';

const actorArgs = { ...entriesArg, ...clientArgs, ...timeoutArg };

const kinds = {
  worker: { readTimeline: readWorkerTimeline, format: formatWorker },
  task: { readTimeline: readTaskTimeline, format: formatTask },
} as const;

/** @throws AppError actor.unknown, service.unreachable */
async function showActor(
  entity: 'worker' | 'task',
  name: string,
  { flags, io, out, note }: Context<Flags<typeof actorArgs>>,
): Promise<number> {
  const { readTimeline, format } = kinds[entity];
  const id = readId(entity, name);
  const timeoutMs = readTimeout(flags.timeout);
  const count = readEntryCount(flags.entries);
  return withRequester(flags, io, async (requester, fleet) => {
    const view = await orNamed(requester.request('get', `${entity}.${id}`, {}, timeoutMs), entity, fleet);
    const timeline = count === 0 ? [] : await orNone(readTimeline(requester, id, count), note);
    if (flags.json) await out.json({ ...(view as object), timeline });
    else await out.print(...format(view as TaskView & WorkerView, timeline ?? [], out.colors, out.width()));
    return 0;
  });
}

export const worker = defineCommand({
  args: { worker: argument('WORKER', 'the id of the worker'), ...actorArgs },
  details: [
    'Exit code 1: there is no such worker. Times are in UTC.',
    'The timeline is read from the log with operator credentials; those of "stopgate dev" are found automatically. Without them there is a note instead, and null with --json.',
  ],
  examples: ['stopgate worker w1', 'stopgate worker w1 --entries 100', 'stopgate worker w1 --json | jq .plan'],
  run: (context) => showActor('worker', context.flags.worker, context),
});

export const task = defineCommand({
  args: { task: argument('TASK', 'the id of the task'), ...actorArgs },
  details: [
    'Exit code 1: there is no such task. Times are in UTC.',
    'The timeline also has its claims, and the decisions about its holders with the results of its hooks.',
    'It is read from the log with operator credentials; those of "stopgate dev" are found automatically. Without them there is a note instead, and null with --json.',
  ],
  examples: ['stopgate task T-1', 'stopgate task T-1 --entries 100', 'stopgate task T-1 --json | jq .hooks'],
  run: (context) => showActor('task', context.flags.task, context),
});

export const workers = defineCommand({
  args: { ...stateArg, ...presenceArgs, ...queueArg, ...agentArg, ...sortArg, ...listArgs },
  details: [
    'Idle time and retries are shown with their limits. --json prints one array; with --watch, one line per change.',
  ],
  examples: ['stopgate workers --watch', 'stopgate workers --state blocked --json', 'stopgate workers --sort usd'],
  run: async (context) => {
    const { state, queue, agent } = context.flags;
    return list(workerListing, { state, presence: readPresence(context.flags), queue, agent }, context);
  },
});

/** The outcomes that the list shows for a stopped task. */
const outcomes = ['completed', 'cancelled'] as const;
const taskStateArg = { state: { ...stateArg.state, options: [...stateArg.state.options, ...outcomes] } };

export const tasks = defineCommand({
  args: { ...taskStateArg, ...queueArg, ...sortArg, ...listArgs },
  details: [
    'An idle task with a queue waits to be claimed. A stopped task is shown as completed or cancelled.',
    '--json prints one array; with --watch, one line per change.',
  ],
  examples: ['stopgate tasks --state idle --queue main', 'stopgate tasks --watch'],
  run: async (context) => {
    const { state, queue } = context.flags;
    const outcome = outcomes.find((each) => each === state);
    if (outcome === undefined) return list(taskListing, { state, queue }, context);
    const listing = { ...taskListing, keeps: (task: TaskView) => task.outcome === outcome };
    return list(listing, { state: 'stopped', queue }, context);
  },
});

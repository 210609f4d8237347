/** worker, task, workers, tasks and queues: one in full with its timeline, or all as a list. */
import type { QueueView, TaskView, WorkerView } from '../../../../machines/index.ts';
import { argument, type Context, defineCommand, type Flags, option } from '../../command.ts';
import { orNamed, withRequester } from '../../connection.ts';
import { filters, list, listArgs, presenceArgs, readPresence } from '../../listing/list.ts';
import { type Listing, spellCommand, taskListing, workerListing } from '../../listing/listing.ts';
import { clientArgs, countFrom, idOf, timeoutArg, timeoutMsDefault } from '../../option-values.ts';
import { formatTask, formatWorker } from '../../text/actor-text.ts';
import { orNone, readTaskTimeline, readWorkerTimeline } from '../../text/timeline.ts';

const actorArgs = {
  entries: option('N', 'show the newest N entries in the timeline (default: 20)', countFrom(0, 10_000)),
  ...clientArgs,
  ...timeoutArg,
} as const;

const kinds = {
  worker: { readTimeline: readWorkerTimeline, format: formatWorker },
  task: { readTimeline: readTaskTimeline, format: formatTask },
} as const;

/** @throws AppError actor.unknown, service.unreachable */
async function showActor(
  entity: 'worker' | 'task',
  id: string,
  { flags, io, out, note }: Context<Flags<typeof actorArgs>>,
): Promise<number> {
  const { readTimeline, format } = kinds[entity];
  const timeoutMs = flags.timeout ?? timeoutMsDefault;
  const count = flags.entries ?? 20;
  return withRequester(flags, io, async (requester, fleet) => {
    const view = await orNamed(requester.request('get', `${entity}.${id}`, {}, timeoutMs), entity, fleet);
    const timeline = count === 0 ? [] : await orNone(readTimeline(requester, id, count), note);
    if (flags.json) await out.json({ ...(view as object), timeline });
    else await out.print(...format(view as TaskView & WorkerView, timeline ?? [], out.colors, out.width()));
    return 0;
  });
}

export const worker = defineCommand({
  args: { worker: argument('WORKER', 'the id of the worker', idOf('worker')), ...actorArgs },
  details: [
    'Exit code 1: there is no such worker. Times are in UTC.',
    'The timeline is read from the log with operator credentials; those of "stopgate dev" are found automatically. Without them there is a note instead, and null with --json.',
  ],
  examples: ['stopgate worker w1', 'stopgate worker w1 --entries 100', 'stopgate worker w1 --json | jq .plan'],
  run: (context) => showActor('worker', context.flags.worker, context),
});

export const task = defineCommand({
  args: { task: argument('TASK', 'the id of the task', idOf('task')), ...actorArgs },
  details: [
    'Exit code 1: there is no such task. Times are in UTC.',
    'The timeline also has its claims, and the decisions about its holders with the results of its hooks.',
    'It is read from the log with operator credentials; those of "stopgate dev" are found automatically. Without them there is a note instead, and null with --json.',
  ],
  examples: ['stopgate task T-1', 'stopgate task T-1 --entries 100', 'stopgate task T-1 --json | jq .hooks'],
  run: (context) => showActor('task', context.flags.task, context),
});

export const workers = defineCommand({
  args: {
    state: filters.state,
    ...presenceArgs,
    queue: filters.queue,
    agent: filters.agent,
    sort: filters.sort,
    ...listArgs,
  },
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
const taskState = { ...filters.state, options: [...filters.state.options, ...outcomes] };

export const tasks = defineCommand({
  args: { state: taskState, queue: filters.queue, sort: filters.sort, ...listArgs },
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

const queueListing: Listing<QueueView> = {
  entity: 'queue',
  headings: ['QUEUE', 'PENDING', 'REPORTED', 'WORKERS', 'NEXT'],
  narrowHeadings: ['QUEUE', 'PENDING', 'WORKERS'],
  rowOf: ({ queue, pending, reported, workers, unattended, next }, colors) => [
    { text: queue, paint: colors.bold, isWhole: true },
    { text: String(pending), ...(pending > 0 ? { paint: colors.yellow } : {}) },
    { text: String(reported) },
    { text: String(workers), ...(unattended === null ? {} : { paint: colors.red }) },
    { text: next.length === 0 ? '-' : next.map(({ task }) => task).join(', ') },
  ],
  idOf: ({ queue }) => queue,
  steadyOf: (view) => view,
  empty: (fleet) => [
    `No queues in fleet '${fleet}' yet. A task creates one:`,
    spellCommand(fleet, `publish task T-1 task.created '{"title":"Fix the login","queue":"main"}'`),
  ],
};

export const queues = defineCommand({
  args: { queue: option('Q', 'only this queue', idOf('queue')), ...listArgs },
  details: [
    'PENDING counts unclaimed tasks, both those known here and those reported from elsewhere (depth.reported). NEXT names those that are claimed first: a higher priority first, then the older.',
    'WORKERS counts those that are alive and could take one: active, and neither stopped nor escalated.',
    '--json prints one array; with --watch, one line per change.',
  ],
  examples: ['stopgate queues', 'stopgate queues --queue main --json'],
  run: async (context) => list(queueListing, { queue: context.flags.queue }, context),
});

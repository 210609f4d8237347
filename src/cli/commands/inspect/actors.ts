/** worker, task, workers, tasks and queues: one actor with its timeline, or all as a list. */
import type { QueueView, TaskView, WorkerView } from '../../../../machines/index.ts';
import { getActor } from '../../actor-id.ts';
import { argument, type Context, defineCommand, type Flags, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { filters, list, listArgs, presenceArgs, readPresence } from '../../listing/list.ts';
import { commandToCopy, type Listing, taskListing, workerListing } from '../../listing/listing.ts';
import { clientArgs, countFrom, idOf, timeoutArg, timeoutMsDefault } from '../../option-values.ts';
import { formatTask, formatWorker } from '../../text/actor-text.ts';
import { nullIfUnreadable, readLastPrompt, readTaskTimeline, readWorkerTimeline } from '../../text/timeline.ts';

const actorArgs = {
  entries: option('N', 'length of the timeline in entries (default: 20)', countFrom(0, 10_000)),
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
    const view = await getActor<TaskView & WorkerView>(id, { requester, entity, fleet, note, timeoutMs });
    const timeline =
      count === 0 ? [] : await nullIfUnreadable(readTimeline(requester, view[entity] ?? id, count), note);
    if (flags.json) await out.json({ ...view, timeline });
    else {
      // Without the log there is no timeline, and no prompt either.
      const prompt = entity === 'task' || timeline === null ? null : await readLastPrompt(requester, view.worker);
      await out.print(...format(view, { timeline: timeline ?? [], prompt }, out.colors, out.width()));
    }
    return 0;
  });
}

export const worker = defineCommand({
  args: { worker: argument('WORKER', 'the id of the worker', idOf('worker')), ...actorArgs },
  details: [
    'Exit code 1: unknown worker. Times are in UTC.',
    'The timeline comes from the log, which needs operator credentials; those of "stopgate dev" are found automatically. Without them a note is shown instead (null with --json).',
  ],
  examples: ['stopgate worker w1', 'stopgate worker w1 --entries 100', 'stopgate worker w1 --json | jq .plan'],
  run: (context) => showActor('worker', context.flags.worker, context),
});

export const task = defineCommand({
  args: { task: argument('TASK', 'the id of the task', idOf('task')), ...actorArgs },
  details: [
    'Exit code 1: unknown task. Times are in UTC.',
    'The timeline includes its claims, and the decisions about its holders with the results of its hooks.',
    'The timeline comes from the log, which needs operator credentials; those of "stopgate dev" are found automatically. Without them a note is shown instead (null with --json).',
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
    'Shows idle times and retries with their limits. --json prints one array; with --watch, one line per change.',
  ],
  examples: ['stopgate workers --watch', 'stopgate workers --state blocked --json', 'stopgate workers --sort usd'],
  run: async (context) => {
    const { state, queue, agent } = context.flags;
    return list(workerListing, { state, presence: readPresence(context.flags), queue, agent }, context);
  },
});

/** Additional values of --state: stopped tasks are listed by their outcome. */
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
  optional: ['REPORTED', 'NEXT'],
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
    `No queues in fleet '${fleet}' yet. To create one with a task:`,
    commandToCopy(fleet, `publish task T-1 task.created '{"title":"Fix the login","queue":"main"}'`),
  ],
};

export const queues = defineCommand({
  args: { queue: option('Q', 'only this queue', idOf('queue')), ...listArgs },
  details: [
    'PENDING counts unclaimed tasks, including those reported from elsewhere (depth.reported). NEXT lists the tasks to be claimed next: highest priority first, then oldest first.',
    'WORKERS counts those that could take a task: active, and neither stopped nor escalated.',
    '--json prints one array; with --watch, one line per change.',
  ],
  examples: ['stopgate queues', 'stopgate queues --queue main --json'],
  run: async (context) => list(queueListing, { queue: context.flags.queue }, context),
});

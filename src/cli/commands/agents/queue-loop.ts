/**
 * The main loop of a worker (`stopgate loop --queue Q`): it claims the first task that waits, works on it until it may
 * stop, and goes on with the next; without a task it waits for as long as its policy keeps it.
 */
import { randomBytes } from 'node:crypto';
import type { Decision, TaskView } from '../../../../machines/index.ts';
import { createTurnPauses } from '../../../agents/shared/turn-pauses.ts';
import type { Requester } from '../../../nats/requester.ts';
import { describeAnswer } from '../../../terminal/text.ts';
import { sleep } from '../../../timer.ts';
import { untilBack } from './agent-turn.ts';
import { ask, isComplete, lookMs, type Run, takeTurns, waitWhile } from './loop-turns.ts';

/** One request without a task is held this long: as long as a proxy lets it stand. */
const holdMs = 50_000;
const claimTimeoutMs = 10_000;
const viewTimeoutMs = 5_000;

type QueueOptions = { readonly queue: string; readonly readPrompt: () => Promise<string> };

/** @returns the exit code: 0 when its policy lets it go without a task, and it has left none to a person */
export async function workThroughQueue(
  requester: Requester,
  run: Omit<Run, 'readPrompt'>,
  { queue, readPrompt }: QueueOptions,
): Promise<number> {
  const { worker, signal, context } = run;
  const { note } = context;
  const pauses = createTurnPauses(run.pauseMs);
  /** How many tasks ended for it without being complete. */
  let leftCount = 0;
  for (;;) {
    const task = await claimNext(requester, run, queue);
    if (signal.aborted) return 130;
    if (task !== null) {
      note(`stopgate: ${worker} works on ${nameOf(task)}`);
      const end = await workOn(requester, run, task, readPrompt);
      if (typeof end === 'number') return end;
      if (end === 'left') {
        leftCount += 1;
        note(`stopgate: ${worker} leaves ${nameOf(task)} to a person; "stopgate escalations" lists it`);
      }
      continue;
    }
    const askedMs = performance.now();
    const decision = await ask(requester, { worker, what: 'idle', signal, note }, { holdMs });
    if (context.flags.json) await context.out.json(decision);
    note(`stopgate: ${worker} without a task: ${describeAnswer(decision)}: ${decision.reason}`);
    if (decision.decision === 'allow' && decision.action !== 'continue')
      return decision.action === 'complete' && leftCount === 0 ? 0 : 1;
    // Depths that are reported from elsewhere keep it, and there is nothing to claim here.
    const waitMs = decision.decision === 'allow' ? lookMs : pauses.after(performance.now() - askedMs);
    if (waitMs > 0) await sleep(waitMs, signal);
    if (signal.aborted) return 130;
  }
}

const nameOf = ({ task, title }: TaskView): string => (title === null ? task : `${task} ${title}`);

/** @returns the exit code, or how the task ended: the next one is worked on in both cases */
async function workOn(
  requester: Requester,
  run: Omit<Run, 'readPrompt'>,
  view: TaskView,
  readPrompt: () => Promise<string>,
): Promise<number | 'done' | 'left'> {
  const { worker, signal, context } = run;
  const { task } = view;
  for (;;) {
    const end = await takeTurns(requester, {
      ...run,
      env: { STOPGATE_TASK: task },
      // With a task it waits for nothing.
      fields: { holdMs: 0 },
      endsBy: isWorkDone,
      readPrompt: async () =>
        [describeTask(await readTask(requester, view)), (await readPrompt()).trim()]
          .filter((it) => it !== '')
          .join('\n\n'),
    });
    if (end === 'aborted') return 130;
    if (end === 'turns') return 1;
    if (end.decision === 'block') {
      await requester.publish(`worker.${worker}.task.completed`, { task });
      return 'done';
    }
    if (isComplete(end)) return 'done';
    if (end.action === 'escalate' || end.cause === 'capped') return 'left';
    // Budgets, a retirement, a check that cannot run: the next task would end in the same way.
    if (end.cause !== 'limited' && end.cause !== 'waiting') return 1;
    context.note(`stopgate: ${worker} goes on with ${task} when that is over`);
    await waitWhile(requester, run, (decision) => decision.cause === end.cause);
    if (signal.aborted) return 130;
  }
}

/** Its checks and hooks let it go; only the queue and the task that it holds keep it. */
const isWorkDone = ({ decision, cause }: Decision): boolean =>
  decision === 'block' && (cause === 'pending-tasks' || cause === 'idle');

/** Reads the task as it is before a turn, and keeps what is known of it while the service is away. */
const readTask = (requester: Requester, known: TaskView): Promise<TaskView> =>
  requester
    .request('get', `task.${known.task}`, {}, viewTimeoutMs)
    .then((view) => view as TaskView)
    .catch(() => known);

/** Gives the id, title and steps of a task as the first lines of a prompt. `step.updated` names a step by its id. */
function describeTask({ task, title, plan }: TaskView): string {
  const steps = (plan ?? []).map(
    (it) => `- ${it.title} (${it.status}${it.step === undefined ? '' : `; step id ${it.step}`})`,
  );
  return [
    `Task ${task}${title === null ? '' : `: ${title}`}`,
    ...(steps.length === 0 ? [] : ['', 'Steps:', ...steps]),
  ].join('\n');
}

/** Asked again under its id while the service is away. @throws AppError what it says for good */
async function claimNext(
  requester: Requester,
  { worker, signal, context }: Omit<Run, 'readPrompt'>,
  queue: string,
): Promise<TaskView | null> {
  const body = { queue, request: randomBytes(12).toString('hex') };
  const ask = () => requester.request('claim-next', worker, body, claimTimeoutMs) as Promise<TaskView | { task: null }>;
  const found = await untilBack(ask, signal, ({ message }) =>
    context.note(`stopgate: ${worker} cannot claim a task yet: ${message}`),
  );
  return found.task === null ? null : (found as TaskView);
}

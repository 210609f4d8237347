/**
 * `stopgate loop --queue Q`: claims the next waiting task, works on it until it may stop, and continues with the next.
 * Without a task it waits as long as its policy keeps it.
 */
import { randomBytes } from 'node:crypto';
import type { Decision, TaskView } from '../../../../machines/index.ts';
import { createTurnPauses } from '../../../agents/shared/turn-pauses.ts';
import type { Requester } from '../../../nats/requester.ts';
import { describeAnswer } from '../../../terminal/text.ts';
import { sleep } from '../../../timer.ts';
import { timeoutMsDefault } from '../../option-values.ts';
import { retryWhileAway } from './agent-turn.ts';
import { ask, isComplete, pollMs, type Run, takeTurns, waitWhile } from './loop-turns.ts';

/** How long to hold one request without a task. Short enough for proxies. */
const holdMs = 50_000;
const claimTimeoutMs = 10_000;

type QueueOptions = { readonly queue: string; readonly readPrompt: () => Promise<string> };

/** @returns the exit code: 0 if the policy lets the worker stop without a task and it has left no task to a person */
export async function workThroughQueue(
  requester: Requester,
  run: Omit<Run, 'readPrompt'>,
  { queue, readPrompt }: QueueOptions,
): Promise<number> {
  const { worker, signal, context } = run;
  const { note } = context;
  const pauses = createTurnPauses(run.pauseMs);
  /** Number of tasks left incomplete. */
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
    // A queue depth reported from elsewhere may keep the worker although there is nothing to claim here.
    const waitMs = decision.decision === 'allow' ? pollMs : pauses.after(performance.now() - askedMs);
    if (waitMs > 0) await sleep(waitMs, signal);
    if (signal.aborted) return 130;
  }
}

const nameOf = ({ task, title }: TaskView): string => (title === null ? task : `${task} ${title}`);

/** @returns the exit code if the loop ends, otherwise how the task ended */
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
      // With a task there is nothing to wait for.
      fields: { holdMs: 0 },
      endsBy: isWorkDone,
      readPrompt: async () =>
        [describeTask(await readTask(requester, view)), (await readPrompt()).trim()]
          .filter((text) => text !== '')
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
    // A budget, a retirement or a check that cannot run would end the next task in the same way.
    if (end.cause !== 'limited' && end.cause !== 'waiting') return 1;
    context.note(`stopgate: ${worker} continues with ${task} afterwards`);
    await waitWhile(requester, run, (decision) => decision.cause === end.cause);
    if (signal.aborted) return 130;
  }
}

/** Whether the checks and hooks let the worker stop, so that only the queue and its task keep it. */
const isWorkDone = ({ decision, cause }: Decision): boolean =>
  decision === 'block' && (cause === 'pending-tasks' || cause === 'idle');

/** Reads the current state of the task, or returns the known one if the service is unreachable. */
const readTask = (requester: Requester, known: TaskView): Promise<TaskView> =>
  requester
    .request('get', `task.${known.task}`, {}, timeoutMsDefault)
    .then((view) => view as TaskView)
    .catch(() => known);

/** Returns the first lines of a prompt: the task's id, title and steps, with the step ids that `step.updated` needs. */
function describeTask({ task, title, plan }: TaskView): string {
  const steps = (plan ?? []).map(
    ({ title: text, status, step }) => `- ${text} (${status}${step === undefined ? '' : `; step id ${step}`})`,
  );
  return [
    `Task ${task}${title === null ? '' : `: ${title}`}`,
    ...(steps.length === 0 ? [] : ['', 'Steps:', ...steps]),
  ].join('\n');
}

/** Repeats the claim under the same request id while the service is unreachable. @throws AppError */
async function claimNext(
  requester: Requester,
  { worker, signal, context }: Omit<Run, 'readPrompt'>,
  queue: string,
): Promise<TaskView | null> {
  const body = { queue, request: randomBytes(12).toString('hex') };
  const ask = () => requester.request('claim-next', worker, body, claimTimeoutMs) as Promise<TaskView | { task: null }>;
  const found = await retryWhileAway(ask, signal, ({ message }) =>
    context.note(`stopgate: ${worker} cannot claim a task yet: ${message}`),
  );
  return found.task === null ? null : (found as TaskView);
}

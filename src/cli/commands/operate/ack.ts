/**
 * ack: a person looks at one of the things that people are notified of: an escalation, a request that waits for long, a
 * queue without workers.
 */
import { AppError } from '../../../errors.ts';
import { argument, defineCommand } from '../../command.ts';
import { operatorArgs, publishOperatorEntry, queueArg, taskArg, type View } from './operator-entry.ts';

export const ack = defineCommand({
  args: {
    id: argument('WORKER', 'the id of the worker, or of the task or queue'),
    ...taskArg,
    ...queueArg,
    ...operatorArgs,
  },
  details: [
    'No more reminders are sent. An escalation stays until it is resolved, a request until it is answered, and a queue is ' +
      'unattended until a worker is there.',
    'Exit code 1: people are not told of it, or it is not known.',
  ],
  examples: ['stopgate ack w1', 'stopgate ack T-1 --task --by ann --yes', 'stopgate ack build --queue'],
  run: async (context) => {
    const { id, task, queue } = context.flags;
    if (task && queue) throw new AppError('input.bad', 'pass either --task or --queue');
    return publishOperatorEntry(
      {
        entity: task ? 'task' : queue ? 'queue' : 'worker',
        id,
        type: 'escalation.acknowledged',
        data: {},
        needs: 'notice',
        question: 'Acknowledge it?',
        describe: async (view) => describe(id, task, view),
      },
      context,
    );
  },
});

function describe(id: string, isTask: boolean, view: View): string[] {
  const { noticed, next } = noticeIn(id, isTask, view);
  return [`${id}: acknowledged by ${noticed?.acknowledgedBy ?? 'nobody'}`, next];
}

/** @returns what was acknowledged, and what ends it */
function noticeIn(id: string, isTask: boolean, view: View) {
  if ('unattended' in view)
    return {
      noticed: view.unattended as Noticed,
      next: `a worker of the queue ends it: "stopgate queues --queue ${id}"`,
    };
  if (view.escalation !== null) {
    const next = `it stays escalated until "stopgate resolve ${id}${isTask ? ' --task' : ''} --resume" (or --stop)`;
    return { noticed: view.escalation, next };
  }
  const asked = 'inputs' in view ? view.inputs.find(({ overdue }) => overdue !== undefined) : undefined;
  return { noticed: asked?.overdue ?? null, next: `it still asks: "stopgate answer ${id}", or at its own terminal` };
}

type Noticed = { readonly acknowledgedBy: string | null } | null;

/** ack: a person has seen an escalation. */
import { defineCommand } from '../command.ts';
import { operatorArgs, publishOperatorEntry, taskArg } from '../operator-entry.ts';

export const ack = defineCommand({
  args: {
    id: { type: 'positional', valueHint: 'WORKER', description: 'the id of the worker, or with --task of the task' },
    ...taskArg,
    ...operatorArgs,
  },
  details: [
    'No more reminders are sent. It stays escalated until it is resolved.',
    'Exit code 1: it is not escalated, or not known.',
  ],
  examples: ['stopgate ack w1', 'stopgate ack T-1 --task --by ann --yes'],
  run: async (context) => {
    const { id, task } = context.flags;
    return publishOperatorEntry(
      {
        entity: task ? 'task' : 'worker',
        id,
        type: 'escalation.acknowledged',
        data: {},
        needsEscalation: true,
        question: 'Acknowledge it?',
        describe: async ({ escalation }) => [
          `${id}: acknowledged by ${escalation?.acknowledgedBy ?? 'nobody'}`,
          `it stays escalated until "stopgate resolve ${id}${task ? ' --task' : ''} --resume" (or --stop)`,
        ],
      },
      context,
    );
  },
});

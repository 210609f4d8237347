/** ack: somebody looks at an escalation. */
import { defineCommand } from '../command.ts';
import { operatorArgs, publishOperatorEntry, taskArg } from '../operator-entry.ts';

export const ack = defineCommand({
  args: {
    id: { type: 'positional', valueHint: 'WORKER', description: 'its id, or with --task that of a task' },
    ...taskArg,
    ...operatorArgs,
  },
  details: [
    'No more reminders are sent. It stays escalated until it is resolved.',
    'Exit code 1: it is not escalated, or is not known.',
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
        ofEscalated: true,
        question: 'Acknowledge it?',
        describe: async ({ escalation }) => [
          `${id}: acknowledged by ${escalation?.acknowledgedBy ?? 'nobody'}`,
          `it stays escalated until "stopgate resolve ${id}${task ? ' --task' : ''}"`,
        ],
      },
      context,
    );
  },
});

/** retire: a worker is taken out of service. */
import { defineCommand } from '../command.ts';
import { operatorArgs, publishOperatorEntry } from '../operator-entry.ts';

export const retire = defineCommand({
  args: { worker: { type: 'positional', valueHint: 'WORKER', description: 'its id' }, ...operatorArgs },
  details: [
    'Its stops are allowed, its claims refused, and its tasks go back to their queue. Only its own registration brings it back.',
    'Exit code 1: it is not known.',
  ],
  examples: ['stopgate retire w1', 'stopgate retire w1 --yes --json'],
  run: async (context) => {
    const { worker } = context.flags;
    return publishOperatorEntry(
      {
        entity: 'worker',
        id: worker,
        type: 'worker.retired',
        data: {},
        ofEscalated: false,
        question: 'Retire it?',
        describe: async ({ state }) => [`${worker}: retired; it is ${state} now`],
      },
      context,
    );
  },
});

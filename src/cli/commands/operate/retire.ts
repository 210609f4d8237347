/** retire: takes a worker out of service. */
import type { WorkerView } from '../../../../machines/index.ts';
import { throwIfRetired } from '../../../service/refusal.ts';
import { argument, defineCommand } from '../../command.ts';
import { operatorArgs, publishOperatorEntry } from './operator-entry.ts';

export const retire = defineCommand({
  args: { worker: argument('WORKER', 'the id of the worker'), ...operatorArgs },
  details: [
    'Its stops are allowed, its claims are refused, and its tasks go back to their queue. It returns only when it registers again.',
    'Exit code 1: it is not known, or retired already.',
  ],
  examples: ['stopgate retire w1', 'stopgate retire w1 --yes --json'],
  run: async (context) => {
    const { worker } = context.flags;
    return publishOperatorEntry(
      {
        entity: 'worker',
        id: worker,
        type: 'worker.retired',
        data: (view) => {
          throwIfRetired(worker, view as WorkerView);
          return {};
        },
        needs: null,
        question: 'Retire it?',
        describe: async ({ state }) => [`${worker}: retired; it is ${state} now`],
      },
      context,
    );
  },
});

/** queues: where tasks wait. */
import type { QueueView } from '../../../machines/index.ts';
import { defineCommand } from '../command.ts';
import { list, listArgs } from '../list.ts';
import { type Listing, spellCommand } from '../listing.ts';

const listing: Listing<QueueView> = {
  entity: 'queue',
  headings: ['QUEUE', 'PENDING', 'REPORTED'],
  narrowHeadings: ['QUEUE', 'PENDING', 'REPORTED'],
  rowOf: ({ queue, pending, reported }, colors) => [
    { text: queue, paint: colors.bold, isWhole: true },
    { text: String(pending), ...(pending > 0 ? { paint: colors.yellow } : {}) },
    { text: String(reported) },
  ],
  idOf: ({ queue }) => queue,
  steadyOf: (view) => view,
  empty: (fleet) => [
    `No queues in fleet '${fleet}' yet. A task creates one:`,
    spellCommand(fleet, `publish task T-1 task.created '{"title":"Fix the login","queue":"main"}'`),
  ],
};

export const queues = defineCommand({
  args: listArgs,
  details: [
    'PENDING counts unclaimed tasks, both those known here and those reported from elsewhere (depth.reported).',
  ],
  examples: ['stopgate queues', 'stopgate queues --json'],
  run: async (context) => list(listing, {}, context),
});

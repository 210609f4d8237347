/** queues: where tasks wait. */
import type { QueueView } from '../../../../machines/index.ts';
import { type Arguments, defineCommand, option } from '../../command.ts';
import { list, listArgs } from '../../listing/list.ts';
import { type Listing, spellCommand } from '../../listing/listing.ts';

const listing: Listing<QueueView> = {
  entity: 'queue',
  headings: ['QUEUE', 'PENDING', 'REPORTED', 'WORKERS', 'NEXT'],
  narrowHeadings: ['QUEUE', 'PENDING', 'WORKERS'],
  rowOf: ({ queue, pending, reported, workers = 0, unattended = null, next = [] }, colors) => [
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

const onlyArg = {
  queue: option('Q', 'only this queue'),
} as const satisfies Arguments;

export const queues = defineCommand({
  args: { ...onlyArg, ...listArgs },
  details: [
    'PENDING counts unclaimed tasks, both those known here and those reported from elsewhere (depth.reported). NEXT names those that are claimed first: a higher priority first, then the older.',
    'WORKERS counts those that are alive and could take one: active, and neither stopped nor escalated.',
    '--json prints one array; with --watch, one line per change.',
  ],
  examples: ['stopgate queues', 'stopgate queues --queue main --json'],
  run: async (context) => list(listing, { queue: context.flags.queue }, context),
});

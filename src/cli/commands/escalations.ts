/** escalations: who waits for a person, longest first. */
import type { EscalatedEntity, Escalation, TaskView, WorkerView } from '../../../machines/index.ts';
import { questionIn } from '../../../machines/values/question.ts';
import { defineCommand } from '../command.ts';
import { list, listArgs } from '../list.ts';
import type { Listing } from '../listing.ts';
import { formatAgo } from '../state-text.ts';

type Row = { readonly entity: EscalatedEntity; readonly id: string } & Escalation;

const listing: Listing<Row> = {
  entity: 'escalation',
  headings: ['WHO', 'SINCE', 'CAUSE', 'ACKNOWLEDGED', 'NOTIFIED', 'REASON'],
  narrowHeadings: ['WHO', 'SINCE', 'REASON'],
  read: async (readAll) => {
    const filter = { state: 'escalated' };
    const [workers, tasks] = await Promise.all([
      readAll<WorkerView>('worker', filter),
      readAll<TaskView>('task', filter),
    ]);
    const rows = [
      ...workers.map(({ worker, escalation }) => rowOf('worker', worker, escalation)),
      ...tasks.map(({ task, escalation }) => rowOf('task', task, escalation)),
    ];
    return rows.flat().sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
  },
  rowOf: ({ entity, id, since, cause, acknowledgedBy, notified, reason }, colors) => [
    { text: `${entity} ${id}`, paint: colors.bold, isWhole: true },
    { text: formatAgo(since) },
    { text: cause },
    acknowledgedBy === null ? { text: 'nobody', paint: colors.yellow } : { text: `by ${acknowledgedBy}` },
    { text: notified === 0 ? '-' : `${notified}x` },
    { text: questionIn(reason) ?? reason },
  ],
  idOf: ({ entity, id }) => `${entity} ${id}`,
  steadyOf: (row) => row,
  empty: (fleet) => [`Nothing waits for a person in fleet '${fleet}'`],
};

const rowOf = (entity: EscalatedEntity, id: string, escalation: Escalation | null): Row[] =>
  escalation === null ? [] : [{ entity, id, ...escalation }];

export const escalations = defineCommand({
  args: listArgs,
  details: [
    'Workers and tasks. NOTIFIED counts delivered webhooks. "stopgate ack" ends the reminders, "stopgate resolve" the escalation.',
    '--json prints one array; with --watch, one line per change.',
  ],
  examples: ['stopgate escalations', 'stopgate escalations --watch', 'stopgate escalations --json'],
  run: async (context) => list(listing, {}, context),
});

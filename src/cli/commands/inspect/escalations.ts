/** escalations: lists what waits for a person, longest wait first. */
import type { PersonWait } from '../../../../machines/index.ts';
import { personKinds } from '../../../../machines/replay/standing.ts';
import type { Colors } from '../../../terminal/text.ts';
import { choice, defineCommand } from '../../command.ts';
import { filters, list, listArgs, presenceArgs, readPresence } from '../../listing/list.ts';
import type { Listing } from '../../listing/listing.ts';
import { formatAgo } from '../../text/state-text.ts';

const listing: Listing<PersonWait> = {
  entity: 'escalation',
  headings: ['WHO', 'SINCE', 'KIND', 'CAUSE', 'ACKNOWLEDGED', 'NOTIFIED', 'REASON'],
  optional: ['NOTIFIED', 'ACKNOWLEDGED', 'CAUSE', 'KIND'],
  rowOf: (item, colors, nowMs) => {
    const { entity, id, since, kind, sentence, reason, note } = item;
    const text = [kind === 'escalation' ? sentence : reason, note].filter((part) => part !== null).join(' · ');
    return [
      { text: `${entity} ${id}`, paint: colors.bold, isWhole: true },
      { text: formatAgo(since, nowMs) },
      { text: kind },
      { text: causeOf(item) },
      ...noticeCells(item, colors),
      { text },
    ];
  },
  idOf: ({ entity, id, kind, seq }) => (kind === 'escalation' ? `${entity} ${id}` : `${entity} ${id} #${seq}`),
  steadyOf: (item) => item,
  order: (a, b) => compare(a.since, b.since) || compare(b.entity, a.entity),
  empty: (fleet) => [`Nothing is waiting for a person in fleet '${fleet}'`],
};

function causeOf(item: PersonWait): string {
  if (item.kind === 'escalation') return item.cause;
  if (item.kind === 'unattended') return 'no worker';
  return item.isHeld ? 'held' : 'at its terminal';
}

/** Shows who acknowledged it and how often people were notified. A request has no notice until it is overdue. */
function noticeCells(item: PersonWait, colors: Colors) {
  const noticed = item.kind === 'escalation' || item.kind === 'unattended' ? item : item.overdue;
  if (noticed === undefined) return [{ text: '-' }, { text: '-' }];
  const { acknowledgedBy, notified } = noticed;
  return [
    acknowledgedBy === null ? { text: 'nobody', paint: colors.yellow } : { text: `by ${acknowledgedBy}` },
    { text: notified === 0 ? '-' : `${notified}x` },
  ];
}

/** Compares texts. A worker comes before its task if both were escalated at the same time. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const escalations = defineCommand({
  args: {
    kind: choice('KIND', personKinds, 'only this kind'),
    state: filters.state,
    ...presenceArgs,
    queue: filters.queue,
    agent: filters.agent,
    ...listArgs,
  },
  details: [
    'Lists escalated workers and tasks, requests of agents (permission, a question, or other input), and queues whose tasks nobody can take. ' +
      'Filters apply to the worker, task or queue; --presence and --agent exclude tasks and queues.',
    'NOTIFIED counts delivered webhooks; a request is notified after escalation.waiting. Use "stopgate ack" to end the reminders, "stopgate resolve" to end an escalation, and "stopgate answer" ' +
      'for requests whose CAUSE is "held". Other requests are answered at the agent\'s own terminal.',
    '--json prints one array; with --watch, one line per change.',
  ],
  examples: [
    'stopgate escalations --watch',
    'stopgate escalations --kind permission',
    'stopgate escalations --queue main --json',
  ],
  run: async (context) => {
    const { kind, state, queue, agent } = context.flags;
    return list(listing, { kind, state, presence: readPresence(context.flags), queue, agent }, context);
  },
});

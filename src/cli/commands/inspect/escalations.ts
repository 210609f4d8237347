/** escalations: what waits for a person, longest first. */
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
  narrowHeadings: ['WHO', 'SINCE', 'REASON'],
  rowOf: (item, colors, nowMs) => {
    const { entity, id, since, kind, sentence, reason, note } = item;
    const text = [kind === 'escalation' ? sentence : reason, note].filter((it) => it !== null).join(' · ');
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
  empty: (fleet) => [`Nothing waits for a person in fleet '${fleet}'`],
};

function causeOf(item: PersonWait): string {
  if (item.kind === 'escalation') return item.cause;
  if (item.kind === 'unattended') return 'no worker';
  return item.isHeld ? 'held' : 'at its terminal';
}

/** Who looks at it, and how often people were notified. A request is new to nobody until it has waited for too long. */
function noticeCells(item: PersonWait, colors: Colors) {
  const noticed = item.kind === 'escalation' || item.kind === 'unattended' ? item : item.overdue;
  if (noticed === undefined) return [{ text: '-' }, { text: '-' }];
  const { acknowledgedBy, notified } = noticed;
  return [
    acknowledgedBy === null ? { text: 'nobody', paint: colors.yellow } : { text: `by ${acknowledgedBy}` },
    { text: notified === 0 ? '-' : `${notified}x` },
  ];
}

/** Compares ids. If a worker and its task were escalated together, the worker comes first. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const escalations = defineCommand({
  args: {
    kind: choice('KIND', personKinds, 'only what waits for this'),
    state: filters.state,
    ...presenceArgs,
    queue: filters.queue,
    agent: filters.agent,
    ...listArgs,
  },
  details: [
    'Escalated workers and tasks, what agents ask (permission, a question, or other input), and queues whose tasks nobody could take. ' +
      'Filters are about the worker, task or queue; one by presence or agent leaves tasks and queues out.',
    'NOTIFIED counts delivered webhooks; of a request they begin when it has waited for escalation.waiting. "stopgate ack" ends the reminders, "stopgate resolve" the escalation, "stopgate answer" ' +
      'answers what CAUSE shows as "held"; the rest is answered at the agent\'s own terminal.',
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

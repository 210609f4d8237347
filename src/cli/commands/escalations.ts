/** escalations: what waits for a person, longest first. */
import type { PersonWait } from '../../../machines/index.ts';
import { personKinds } from '../../../machines/replay/standing.ts';
import { defineCommand } from '../command.ts';
import { agentArg, list, listArgs, presenceArgs, queueArg, readPresence, stateArg } from '../list.ts';
import type { Listing } from '../listing.ts';
import { formatAgo } from '../state-text.ts';

const listing: Listing<PersonWait> = {
  entity: 'escalation',
  headings: ['WHO', 'SINCE', 'KIND', 'CAUSE', 'ACKNOWLEDGED', 'NOTIFIED', 'REASON'],
  narrowHeadings: ['WHO', 'SINCE', 'REASON'],
  rowOf: (item, colors, nowMs) => {
    const { entity, id, since, kind, sentence, reason, note } = item;
    // Services of older releases send no sentence.
    const text = [(kind === 'escalation' ? sentence : null) ?? reason, note].filter((it) => it !== null).join(' · ');
    return [
      { text: `${entity} ${id}`, paint: colors.bold, isWhole: true },
      { text: formatAgo(since, nowMs) },
      { text: kind },
      ...(item.kind === 'escalation'
        ? [
            { text: item.cause },
            item.acknowledgedBy === null
              ? { text: 'nobody', paint: colors.yellow }
              : { text: `by ${item.acknowledgedBy}` },
            { text: item.notified === 0 ? '-' : `${item.notified}x` },
          ]
        : [{ text: item.isHeld ? 'held' : 'at its terminal' }, { text: '-' }, { text: '-' }]),
      { text },
    ];
  },
  idOf: ({ entity, id, kind, seq }) => (kind === 'escalation' ? `${entity} ${id}` : `${entity} ${id} #${seq}`),
  steadyOf: (item) => item,
  order: (a, b) => compare(a.since, b.since) || compare(b.entity, a.entity),
  empty: (fleet) => [`Nothing waits for a person in fleet '${fleet}'`],
};

/** Compares ids. If a worker and its task were escalated together, the worker comes first. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const escalations = defineCommand({
  args: {
    kind: { type: 'enum', valueHint: 'KIND', options: [...personKinds], description: 'only what waits for this' },
    ...stateArg,
    ...presenceArgs,
    ...queueArg,
    ...agentArg,
    ...listArgs,
  },
  details: [
    'Escalated workers and tasks, and what agents ask: permission, a question, or other input. Filters are about the worker or ' +
      'task; one by presence or agent leaves tasks out.',
    'NOTIFIED counts delivered webhooks. "stopgate ack" ends the reminders, "stopgate resolve" the escalation, "stopgate answer" ' +
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

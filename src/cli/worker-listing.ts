/** Workers in a list: a row each. */
import { usedUp, type WorkerView } from '../../machines/index.ts';
import { formatDuration } from '../../machines/values/time.ts';
import { paintAnswer } from '../terminal/answer.ts';
import { formatSeconds } from './decision-text.ts';
import { type Listing, spellCommand } from './listing.ts';
import { formatAgo, formatUsed, paintPresence, paintState } from './state-text.ts';

const same = (text: string): string => text;

export const workerListing: Listing<WorkerView> = {
  entity: 'worker',
  headings: ['WORKER', 'STATE', 'PRESENCE', 'RETRIES', 'IDLE', 'USED', 'TASK', 'AGENT', 'LAST DECISION', 'SEEN'],
  narrowHeadings: ['WORKER', 'STATE', 'RETRIES', 'LAST DECISION'],
  rowOf: (view, colors, nowMs) => {
    const { worker, state, presence, retry, idle, tasks, agent, lastDecision } = view;
    const limit = idle.limitMs === null ? '' : `/${formatDuration(idle.limitMs)}`;
    return [
      { text: worker, paint: colors.bold, isWhole: true },
      { text: state, paint: paintState(state, colors) },
      { text: presence, paint: paintPresence(presence, colors) },
      { text: `${retry.count}/${retry.max ?? '∞'}` },
      { text: `${formatSeconds(idle.ms)}${limit}` },
      { text: formatUsed(view.usage.session) ?? '-', paint: usedUp(view.budgets) === null ? same : colors.red },
      { text: tasks.join(', ') || '-' },
      { text: agent ?? '-' },
      lastDecision === null
        ? { text: '-' }
        : { text: `${lastDecision.decision} ${lastDecision.cause}`, paint: paintAnswer(lastDecision, colors) },
      { text: formatAgo(view.lastSeen, nowMs) },
    ];
  },
  idOf: ({ worker }) => worker,
  steadyOf: ({ idle: { limitMs }, lastSeen: _lastSeen, ...view }) => ({ ...view, limitMs }),
  empty: (fleet) => [
    `No workers in fleet '${fleet}' yet. The first entry of an agent makes it a worker. To make one by hand:`,
    spellCommand(fleet, `publish worker w1 worker.registered '{"agent":"me"}'`),
    spellCommand(fleet, `publish worker w1 plan.updated '{"steps":[{"title":"Write tests","status":"pending"}]}'`),
    spellCommand(fleet, 'decide w1'),
  ],
};

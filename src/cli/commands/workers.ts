/** workers: the fleet at a glance. */
import type { WorkerView } from '../../../machines/index.ts';
import { formatDuration } from '../../../machines/values/duration.ts';
import { AppError } from '../../errors.ts';
import { paintAnswer } from '../../terminal/answer.ts';
import { defineCommand } from '../command.ts';
import { formatSeconds } from '../decision-text.ts';
import { list, listArgs, presenceArg, queueArg, stateArg } from '../list.ts';
import { type Listing, spellCommand } from '../listing.ts';
import { formatAgo, paintPresence, paintState } from '../state-text.ts';

const listing: Listing<WorkerView> = {
  entity: 'worker',
  headings: ['WORKER', 'STATE', 'PRESENCE', 'RETRIES', 'IDLE', 'TASK', 'AGENT', 'LAST DECISION', 'SEEN'],
  rowOf: (view, colors) => {
    const { worker, state, presence, retry, idle, tasks, agent, lastDecision } = view;
    const limit = idle.limitMs === null ? '' : `/${formatDuration(idle.limitMs)}`;
    return [
      { text: worker, paint: colors.bold },
      { text: state, paint: paintState(state, colors) },
      { text: presence, paint: paintPresence(presence, colors) },
      { text: `${retry.count}/${retry.max ?? '∞'}` },
      { text: `${formatSeconds(idle.ms)}${limit}` },
      { text: tasks.join(', ') || '-' },
      { text: agent ?? '-' },
      lastDecision === null
        ? { text: '-' }
        : { text: `${lastDecision.decision} ${lastDecision.cause}`, paint: paintAnswer(lastDecision, colors) },
      { text: formatAgo(view.lastSeen) },
    ];
  },
  idOf: ({ worker }) => worker,
  steadyOf: ({ idle: { limitMs }, lastSeen: _lastSeen, ...view }) => ({ ...view, limitMs }),
  empty: (fleet) => [
    `No workers in fleet '${fleet}' yet. An agent's first entry makes it one. To make one by hand:`,
    spellCommand(fleet, `publish worker w1 worker.registered '{"agent":"me"}'`),
    spellCommand(fleet, `publish worker w1 plan.updated '{"steps":[{"title":"Write tests","status":"pending"}]}'`),
    spellCommand(fleet, 'decide w1'),
  ],
};

export const workers = defineCommand({
  args: {
    ...stateArg,
    ...presenceArg,
    stale: { type: 'boolean', description: 'only those that have been silent for two minutes: --presence stale' },
    ...queueArg,
    agent: { type: 'string', valueHint: 'NAME', description: 'only those of this agent, e.g. claude' },
    ...listArgs,
  },
  details: [
    'Idle time and retries are shown with their limits. --json prints one array; with --watch, one line per change.',
  ],
  examples: ['stopgate workers --watch', 'stopgate workers --state blocked --json'],
  run: async (context) => {
    const { state, presence, stale, queue, agent } = context.flags;
    if (stale && presence !== undefined && presence !== 'stale') {
      throw new AppError('input.bad', `--stale and --presence ${presence} contradict each other`);
    }
    return list(listing, { state, presence: stale ? 'stale' : presence, queue, agent }, context);
  },
});

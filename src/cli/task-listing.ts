/** Tasks in a list: a row each. */
import type { TaskView } from '../../machines/index.ts';
import { type Listing, spellCommand } from './listing.ts';
import { formatProgress, formatUsed, paintState } from './state-text.ts';

export const taskListing: Listing<TaskView> = {
  entity: 'task',
  headings: ['TASK', 'STATE', 'WORKER', 'QUEUE', 'PRIORITY', 'PLAN', 'USED', 'ITERATION', 'HOOKS', 'TITLE'],
  narrowHeadings: ['TASK', 'STATE', 'WORKER', 'TITLE'],
  rowOf: (view, colors) => {
    const { task, state, worker, queue, priority, plan, usage, iteration, maxIterations, hooks, title, outcome } = view;
    return [
      { text: task, paint: colors.bold, isWhole: true },
      { text: outcome ?? state, paint: paintState(state, colors) },
      { text: worker ?? '-' },
      { text: queue ?? '-' },
      { text: String(priority) },
      { text: plan === null ? '-' : formatProgress(plan) },
      { text: formatUsed(usage) ?? '-' },
      { text: iteration === null ? '-' : `${iteration}/${maxIterations ?? '∞'}` },
      { text: hooks.length === 0 ? '-' : `${hooks.filter((hook) => hook.enabled).length} on` },
      { text: title ?? '' },
    ];
  },
  idOf: ({ task }) => task,
  steadyOf: (view) => view,
  empty: (fleet) => [
    `No tasks in fleet '${fleet}' yet. Create one, and let a worker claim it:`,
    spellCommand(fleet, `publish task T-1 task.created '{"title":"Fix the login"}'`),
    spellCommand(fleet, `publish worker w1 task.claimed '{"task":"T-1"}'`),
    spellCommand(fleet, 'task T-1'),
  ],
};

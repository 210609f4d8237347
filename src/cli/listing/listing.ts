/** Describes the columns and texts of a list command. */
import { type TaskView, usedUp, type WorkerView } from '../../../machines/index.ts';
import { formatDuration } from '../../../machines/values/time.ts';
import { formatTable, type Row } from '../../terminal/table.ts';
import { type Colors, paintAnswer } from '../../terminal/text.ts';
import { formatSeconds } from '../text/decision-text.ts';
import { formatAgo, formatProgress, formatUsed, paintPresence, paintState } from '../text/state-text.ts';

/** `idOf` identifies an actor. `steadyOf` omits the running clocks: a change of it is a change of the actor. */
export type Listing<View> = {
  readonly entity: 'worker' | 'task' | 'queue' | 'escalation';
  readonly headings: readonly string[];
  /** The most important headings, for narrow terminals. */
  readonly narrowHeadings: readonly string[];
  /** Ages are relative to `nowMs`, by default now. */
  readonly rowOf: (view: View, colors: Colors, nowMs?: number) => Row;
  readonly idOf: (view: View) => string;
  readonly steadyOf: (view: View) => unknown;
  /** Default: the service's order, which is by id. */
  readonly order?: (a: View, b: View) => number;
  /** Default: everything the service lists. */
  readonly keeps?: (view: View) => boolean;
  /** The lines to print for an empty fleet. */
  readonly empty: (fleet: string) => string[];
};

export type Filter = Readonly<Record<string, string | undefined>>;

/** Minimum width for all headings. On a narrower terminal, each column would be cut to a few letters. */
const wideMin = 72;

/** Formats one row per view. Ages are relative to `nowMs`, by default now. */
export function formatListing<View>(
  { headings, narrowHeadings, rowOf }: Pick<Listing<View>, 'headings' | 'narrowHeadings' | 'rowOf'>,
  views: readonly View[],
  { colors, width, nowMs }: { readonly colors: Colors; readonly width: number; readonly nowMs?: number },
): string[] {
  const shown = width < wideMin ? narrowHeadings : headings;
  const pick = <Item>(items: readonly Item[]) => itemsUnder(headings, shown, items);
  return formatTable(
    pick(headings),
    views.map((view) => pick(rowOf(view, colors, nowMs))),
    width,
  );
}

/** Returns the items of a row whose headings are in `shown`. */
export const itemsUnder = <Item>(headings: readonly string[], shown: readonly string[], items: readonly Item[]) =>
  items.filter((_, index) => shown.includes(headings[index] ?? ''));

/** A command line to copy. Names the fleet unless it is the default. */
export const commandToCopy = (fleet: string, rest: string): string =>
  `  stopgate ${rest}${fleet === 'main' ? '' : ` --fleet ${fleet}`}`;

const unpainted = (text: string): string => text;

export const workerListing: Listing<WorkerView> = {
  entity: 'worker',
  headings: ['WORKER', 'STATE', 'PRESENCE', 'RETRIES', 'IDLE', 'USED', 'TASK', 'AGENT', 'LAST DECISION', 'SEEN'],
  narrowHeadings: ['WORKER', 'STATE', 'RETRIES', 'LAST DECISION'],
  rowOf: (view, colors, nowMs) => {
    const { worker, state, presence, retry, idle, tasks, agent, lastDecision } = view;
    const limit = idle.limitMs === null ? '' : `/${formatDuration(idle.limitMs)}`;
    return [
      { text: worker, paint: colors.bold, isWhole: true },
      { text: view.paused === null ? state : `${state}, paused`, paint: paintState(state, colors) },
      { text: presence, paint: paintPresence(presence, colors) },
      { text: `${retry.count}/${retry.max ?? '∞'}` },
      { text: `${formatSeconds(idle.ms)}${limit}` },
      { text: formatUsed(view.usage.session) ?? '-', paint: usedUp(view.budgets) === null ? unpainted : colors.red },
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
    `No workers in fleet '${fleet}' yet. An agent's first entry registers it. To add a worker by hand:`,
    commandToCopy(fleet, `publish worker w1 worker.registered '{"agent":"me"}'`),
    commandToCopy(fleet, `publish worker w1 plan.updated '{"steps":[{"title":"Write tests","status":"pending"}]}'`),
    commandToCopy(fleet, 'decide w1'),
  ],
};

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
    `No tasks in fleet '${fleet}' yet. To create one and let a worker claim it:`,
    commandToCopy(fleet, `publish task T-1 task.created '{"title":"Fix the login"}'`),
    commandToCopy(fleet, `publish worker w1 task.claimed '{"task":"T-1"}'`),
    commandToCopy(fleet, 'task T-1'),
  ],
};

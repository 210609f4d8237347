/** Describes the columns and texts of a list command. */
import { type TaskView, usedUp, type WorkerView } from '../../../machines/index.ts';
import { isDone, type Plan } from '../../../machines/policy/plan.ts';
import { formatDuration } from '../../../machines/values/time.ts';
import type { UsageView } from '../../../machines/values/usage.ts';
import { type Cell, formatTable, type Row, tableGap } from '../../terminal/table.ts';
import { type Colors, paintAnswer, widthOf } from '../../terminal/text.ts';
import { formatSeconds } from '../text/decision-text.ts';
import {
  formatAgo,
  formatDollars,
  formatProgress,
  formatTokens,
  paintPresence,
  paintState,
} from '../text/state-text.ts';

/** `idOf` identifies an actor. `steadyOf` leaves out the running clocks, so it changes only when the actor does. */
export type Listing<View> = {
  readonly entity: 'worker' | 'task' | 'queue' | 'escalation';
  /** The first column has the ids. */
  readonly headings: readonly string[];
  /** The headings that a narrow terminal leaves out, the least important first. The others are always shown. */
  readonly optional: readonly string[];
  /** Ages are relative to `nowMs`, by default now. */
  readonly rowOf: (view: View, colors: Colors, nowMs?: number) => Row;
  readonly idOf: (view: View) => string;
  readonly steadyOf: (view: View) => unknown;
  /** Default: the service's order, which is by id. */
  readonly order?: (a: View, b: View) => number;
  /** Default: everything the service lists. */
  readonly keeps?: (view: View) => boolean;
  /** The lines to print if nothing is listed although no filter was given. */
  readonly empty: (fleet: string) => string[];
};

export type Filter = Readonly<Record<string, string | undefined>>;

/** A longer cell counts as this wide when deciding which columns to leave out, because it can be cut. */
const columnMin = 16;

/**
 * Formats one row per view. If the rows are too wide, first leaves out empty columns, then shortens long ids as far as
 * they stay unique, and then leaves out more columns. Ages are relative to `nowMs`, by default now.
 */
export function formatListing<View>(
  { headings, optional, rowOf }: Pick<Listing<View>, 'headings' | 'optional' | 'rowOf'>,
  views: readonly View[],
  { colors, width, nowMs }: { readonly colors: Colors; readonly width: number; readonly nowMs?: number },
): string[] {
  let rows = views.map((view) => rowOf(view, colors, nowMs));
  let shown = headings;
  const cellsOf = (row: Row) => itemsUnder(headings, shown, row);
  const isTooWide = () => tableWidth(shown, rows.map(cellsOf)) > width;
  const leaveOut = (heading: string) => {
    shown = shown.filter((each) => each !== heading);
  };
  const isEmpty = (heading: string) => rows.every((row) => row[headings.indexOf(heading)]?.text === '-');
  if (isTooWide()) optional.filter(isEmpty).forEach(leaveOut);
  if (isTooWide()) rows = shortenIds(rows);
  for (const heading of optional) if (isTooWide()) leaveOut(heading);
  return formatTable(shown, rows.map(cellsOf), width);
}

/** Returns the width of a table whose long cells are cut to `columnMin`. */
const tableWidth = (headings: readonly string[], rows: readonly Row[]): number =>
  headings
    .map((heading, column) => Math.max(widthOf(heading), ...rows.map((row) => cellWidth(row[column]))))
    .reduce((sum, each) => sum + each + tableGap, -tableGap);

const cellWidth = ({ text, isWhole = false }: Cell = { text: '' }): number =>
  isWhole ? widthOf(text) : Math.min(columnMin, widthOf(text));

/** Names that people give are shorter. Longer ids are made by programs, such as a UUID of 36 characters. */
const nameMax = 24;
/** Few workers of a fleet share the first eight characters of a UUID. */
const idMin = 8;

/**
 * Cuts a long id in each row's first cell, such as `w1` or `worker w1`, to the shortest prefix that no other id has.
 * Commands accept the prefix as the id.
 */
function shortenIds(rows: readonly Row[]): Row[] {
  const idIn = (row: Row): string => row[0]?.text.split(' ').at(-1) ?? '';
  const ids = [...new Set(rows.map(idIn))].sort();
  const short = new Map<string, string>();
  for (const [index, id] of ids.entries()) {
    const shared = Math.max(...[ids[index - 1], ids[index + 1]].map((other = '') => commonLength(id, other)));
    const length = Math.max(idMin, shared + 1);
    if (id.length > Math.max(nameMax, length + 1)) short.set(id, `${id.slice(0, length)}…`);
  }
  return rows.map((row) => {
    const [first, ...cells] = row;
    const id = idIn(row);
    if (first === undefined) return [];
    return [{ ...first, text: first.text.slice(0, -id.length) + (short.get(id) ?? id) }, ...cells];
  });
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

/** Returns the items of a row whose headings are in `shown`. */
const itemsUnder = <Item>(headings: readonly string[], shown: readonly string[], items: readonly Item[]) =>
  items.filter((_, index) => shown.includes(headings[index] ?? ''));

/** Formats a command line to copy. Names the fleet unless it is the default. */
export const commandToCopy = (fleet: string, rest: string): string =>
  `  stopgate ${rest}${fleet === 'main' ? '' : ` --fleet ${fleet}`}`;

/** Returns the folder's own name, such as `api` for `/home/ann/api`. Agents on Windows report backslashes. */
const lastPart = (folder: string): string => folder.split(/[/\\]/).findLast((part) => part !== '') ?? folder;

/** Returns the step in progress, otherwise the first open one. */
const currentStep = (plan: Plan): Plan[number] | undefined => {
  const open = plan.filter((step) => !isDone(step));
  return open.find(({ status }) => status !== 'pending') ?? open[0];
};

const unpainted = (text: string): string => text;

/** Dollars and tokens. Many agents report tokens alone; what was not reported is a dash. */
const usedCells = ({ usd, tokens }: Pick<UsageView, 'usd' | 'tokens'>, paint: (text: string) => string): Row => [
  { text: usd === 0 ? '-' : formatDollars(usd), paint, isNumber: true },
  { text: tokens === 0 ? '-' : formatTokens(tokens), paint, isNumber: true },
];

export const workerListing: Listing<WorkerView> = {
  entity: 'worker',
  headings: [
    'WORKER',
    'STATE',
    'PRESENCE',
    'RETRIES',
    'IDLE',
    'USD',
    'TOKENS',
    'TASK',
    'AGENT',
    'FOLDER',
    'LAST DECISION',
    'SEEN',
    'DOING',
  ],
  optional: ['PRESENCE', 'IDLE', 'TOKENS', 'USD', 'SEEN', 'AGENT', 'RETRIES', 'DOING', 'TASK', 'FOLDER'],
  rowOf: (view, colors, nowMs) => {
    const { worker, state, presence, retry, idle, tasks, agent, lastDecision } = view;
    const limit = idle.limitMs === null ? '' : `/${formatDuration(idle.limitMs)}`;
    return [
      { text: worker, paint: colors.bold, isWhole: true },
      { text: view.paused === null ? state : `${state}, paused`, paint: paintState(state, colors) },
      { text: presence, paint: paintPresence(presence, colors) },
      { text: `${retry.count}/${retry.max ?? '∞'}` },
      { text: `${formatSeconds(idle.ms)}${limit}` },
      ...usedCells(view.usage.session, usedUp(view.budgets) === null ? unpainted : colors.red),
      { text: tasks.join(', ') || '-' },
      { text: agent ?? '-' },
      { text: view.cwd === null ? '-' : lastPart(view.cwd) },
      lastDecision === null
        ? { text: '-' }
        : { text: `${lastDecision.decision} ${lastDecision.cause}`, paint: paintAnswer(lastDecision, colors) },
      { text: formatAgo(view.lastSeen, nowMs) },
      { text: currentStep(view.plan)?.title ?? view.title ?? '-' },
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
  headings: ['TASK', 'STATE', 'WORKER', 'QUEUE', 'PRIORITY', 'PLAN', 'USD', 'TOKENS', 'ITERATION', 'HOOKS', 'TITLE'],
  optional: ['HOOKS', 'TOKENS', 'USD', 'PRIORITY', 'ITERATION', 'QUEUE', 'PLAN'],
  rowOf: (view, colors) => {
    const { task, state, worker, queue, priority, plan, usage, iteration, maxIterations, hooks, title, outcome } = view;
    return [
      { text: task, paint: colors.bold, isWhole: true },
      { text: outcome ?? state, paint: paintState(state, colors) },
      { text: worker ?? '-' },
      { text: queue ?? '-' },
      { text: String(priority) },
      { text: plan === null ? '-' : formatProgress(plan) },
      ...usedCells(usage, unpainted),
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

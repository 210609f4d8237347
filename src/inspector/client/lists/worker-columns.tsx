/** The columns of the worker table. */
import { shownMs } from '../data/past.ts';
import { type WorkerRow, w } from '../data/row-fields.ts';
import { duration } from '../ui/format.ts';
import { presenceOf, StateMark, stateOf } from '../ui/state-mark.tsx';
import type { Column } from './grid.tsx';
import { ActorLink, Ago, NameCell, NoValue } from './list-cells.tsx';

export const workerColumns: readonly Column<WorkerRow>[] = [
  { key: 'worker', title: 'Worker', render: (row) => <ActorLink entity="worker" id={row[w.id]} /> },
  { key: 'state', title: 'State', render: (row) => <StateMark state={stateOf(row[w.state])} note={noteOf(row)} /> },
  { key: 'presence', title: 'Presence', rank: 3, render: (row) => <Presence row={row} /> },
  { key: 'retries', title: 'Retries', rank: 2, render: (row) => <Retries row={row} /> },
  { key: 'idle', title: 'Idle', rank: 2, render: (row) => <Idle row={row} /> },
  { key: 'task', title: 'Task', rank: 2, render: (row) => <Tasks row={row} /> },
  { key: 'agent', title: 'Agent', rank: 3, render: (row) => <NameCell value={row[w.agent]} /> },
  { key: 'decision', title: 'Last decision', rank: 2, render: (row) => <LastDecision row={row} /> },
  { key: 'seen', title: 'Last seen', rank: 3, render: (row) => <Ago thenMs={row[w.lastSeenMs]} /> },
];

type Cell = { readonly row: WorkerRow };

/** What a worker waits for, and how long still. */
function noteOf(row: WorkerRow): string | null {
  if (row[w.acknowledged] === 1) return 'acknowledged';
  const waitsFor = row[w.waitsFor];
  if (waitsFor === null) return null;
  const untilMs = row[w.waitUntilMs];
  const left = untilMs === null ? '' : ` ${duration(Math.max(0, untilMs - shownMs.value))}`;
  return `${waitsFor.slice(0, 40)}${left}`;
}

function Presence({ row }: Cell) {
  const presence = presenceOf(row[w.presence]);
  return <span data-presence={presence}>{presence}</span>;
}

function Retries({ row }: Cell) {
  const [count, max] = [row[w.retryCount], row[w.retryMax]];
  if (count === 0) return <NoValue />;
  return `${count}${max === null ? '' : ` of ${max}`}`;
}

function Idle({ row }: Cell) {
  const since = row[w.idleSinceMs];
  if (since === null || stateOf(row[w.state]) === 'stopped') return <NoValue />;
  const limit = row[w.idleLimitMs];
  return (
    <span>
      {duration(Math.max(0, shownMs.value - since))}
      {limit !== null && <span class="muted"> of {duration(limit)}</span>}
    </span>
  );
}

function Tasks({ row }: Cell) {
  const task = row[w.task];
  if (task === null) return <NoValue />;
  return (
    <>
      <ActorLink entity="task" id={task} />
      {row[w.tasksHeld] > 1 && <span class="muted"> +{row[w.tasksHeld] - 1}</span>}
    </>
  );
}

function LastDecision({ row }: Cell) {
  const decision = row[w.lastDecision];
  if (decision === null) return <NoValue />;
  return (
    <span class="answer" data-answer={decision} data-cause={row[w.lastCause]}>
      <b>{decision}</b> · {row[w.lastCause]} <Ago thenMs={row[w.lastDecisionMs] ?? 0} />
    </span>
  );
}

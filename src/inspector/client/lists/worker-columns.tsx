/** The columns of the worker table: who, in which state and why, and how long already. */

import { questionIn } from '../../../../machines/values/question.ts';
import { visible } from '../../visible-text.ts';
import { shownMs } from '../data/past.ts';
import { type WorkerRow, w } from '../data/row-fields.ts';
import { Ago, For } from '../ui/age.tsx';
import { duration } from '../ui/format.ts';
import { StateMark } from '../ui/state-mark.tsx';
import { presenceOf, stateOf } from '../ui/states.ts';
import { stopWord } from '../ui/vocabulary.ts';
import type { Column } from './grid.tsx';
import { ActorLink, NameCell, NoValue } from './list-cells.tsx';
import { isUnjudged, rankOf, sinceMsOf } from './urgency.ts';

export const workerColumns: readonly Column<WorkerRow>[] = [
  { key: 'worker', title: 'Worker', render: (row) => <ActorLink entity="worker" id={row[w.id]} /> },
  { key: 'state', title: 'State', render: (row) => <State row={row} /> },
  { key: 'why', title: 'Why', render: (row) => <Why row={row} /> },
  { key: 'since', title: 'For', render: (row) => <For sinceMs={sinceMsOf(row)} /> },
  { key: 'retries', title: 'Retries', rank: 3, render: (row) => <Retries row={row} /> },
  { key: 'task', title: 'Task', rank: 2, render: (row) => <Tasks row={row} /> },
  { key: 'agent', title: 'Agent', rank: 3, render: (row) => <NameCell value={row[w.agent]} /> },
  { key: 'idle', title: 'Idle', rank: 3, render: (row) => <Idle row={row} /> },
  { key: 'seen', title: 'Last seen', rank: 3, render: (row) => <LastSeen row={row} /> },
];

type Cell = { readonly row: WorkerRow };

const LastSeen = ({ row }: Cell) => (
  <span class="muted">
    <Ago thenMs={row[w.lastSeenMs]} />
  </span>
);

const State = ({ row }: Cell) => (
  <span data-unjudged={isUnjudged(row) || undefined}>
    <StateMark state={stateOf(row[w.state])} note={noteOf(row)} />
  </span>
);

function noteOf(row: WorkerRow): string | null {
  const presence = presenceOf(row[w.presence]);
  if (isUnjudged(row)) return 'not judged';
  return presence === 'active' || stateOf(row[w.state]) === 'stopped' ? null : presence;
}

/** Why it is where it is, in one line: what a person would ask first. */
function Why({ row }: Cell) {
  const text = reasonIn(row);
  if (text === null) return <NoValue />;
  const isForPerson = ['escalated', 'asks', 'acknowledged'].includes(rankOf(row));
  const isCounting = row[w.reason] === null && row[w.waitUntilMs] !== null;
  return (
    <span class={['why', isForPerson && 'urgent', isCounting && 'age'].filter(Boolean).join(' ')} title={visible(text)}>
      {row[w.acknowledged] === 1 && <span class="tag">acknowledged</span>}
      <bdi>{visible(text)}</bdi>
    </span>
  );
}

function reasonIn(row: WorkerRow): string | null {
  const [reason, other] = [questionIn(row[w.reason]), otherReason(row)];
  // Of one that was let go at the cap, both.
  return stateOf(row[w.state]) === 'stopped' && reason !== null && other !== null
    ? `${other} · ${reason}`
    : (reason ?? other);
}

function otherReason(row: WorkerRow): string | null {
  if (row[w.awaitsInput] === 1 && stateOf(row[w.state]) !== 'stopped') return 'asks a person for something';
  const waitsFor = row[w.waitsFor];
  if (waitsFor !== null) {
    const untilMs = row[w.waitUntilMs];
    const left = untilMs === null ? '' : `, ${duration(Math.max(0, untilMs - shownMs.value))} left`;
    return `${waitsFor === 'hold' ? 'held: a task may still come' : `waits for check ${waitsFor.slice(0, 40)}`}${left}`;
  }
  if (stateOf(row[w.state]) === 'working' && row[w.planTotal] > 0)
    return `${row[w.planDone]} of ${row[w.planTotal]} steps done`;
  const cause = row[w.lastCause];
  return stateOf(row[w.state]) === 'stopped' && cause !== null ? stopWord(cause) : null;
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
      <For sinceMs={since} />
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

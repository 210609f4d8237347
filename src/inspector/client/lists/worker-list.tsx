/** The list of workers, those that wait for a person first. */
import { viewedPresences } from '../../../../machines/values/states.ts';
import { visible } from '../../visible-text.ts';
import type { FleetStore } from '../data/fleet-store.ts';
import { isPast, shownFleet, shownMs } from '../data/past.ts';
import { isPaused, isUnjudged, rankOf, type WorkerRow, waitsForPerson } from '../data/rows.ts';
import { navigate, route, selection } from '../route.ts';
import { age, duration, withoutName } from '../ui/format.ts';
import { Since, StateMark } from '../ui/text.tsx';
import { Filters, valuesOf } from './filters.tsx';
import { ActorLink, type Column, Cost, columnsWithout, Grid, NameCell, NoValue, rowIn, Tokens } from './grid.tsx';
import { listedIds } from './listed-ids.ts';
import { OpenedStrip, StateStrip, StripTools } from './state-strip.tsx';

const commands = [
  `npx stopgate publish worker w1 step.updated '{"step":"1","title":"Write tests"}'`,
  'npx stopgate decide w1',
  `npx stopgate publish worker w1 step.updated '{"step":"1","status":"done"}'`,
];

/** Shown instead of an empty list: how to create a worker, or where to go in the past. */
function NoWorkers() {
  if (isPast.value)
    return (
      <div class="empty">
        <h2>No workers at this entry</h2>
        <p>No worker had an entry yet. Go to a later one.</p>
      </div>
    );
  return (
    <div class="empty">
      <h2>No workers yet</h2>
      <p>A worker appears with its first entry. Paste these three lines into a terminal in the service’s folder:</p>
      <pre>{commands.join('\n')}</pre>
      <p class="muted">
        They plan a step, ask whether the worker may stop, and mark the step as done. This page updates automatically.
      </p>
    </div>
  );
}

const workerColumns: readonly Column<WorkerRow>[] = [
  { key: 'worker', title: 'Worker', render: (row) => <ActorLink entity="worker" id={row.id} /> },
  { key: 'state', title: 'State', render: (row) => <State row={row} /> },
  { key: 'title', title: 'Title', rank: 3, render: (row) => <NameCell value={row.title} /> },
  { key: 'why', title: 'Why', render: (row) => <Why row={row} /> },
  { key: 'since', title: 'For', render: (row) => <Since sinceMs={row.sinceMs} /> },
  { key: 'retries', title: 'Retries', rank: 3, render: (row) => <Retries row={row} /> },
  { key: 'task', title: 'Task', rank: 2, render: (row) => <Tasks row={row} /> },
  { key: 'agent', title: 'Agent', rank: 3, render: (row) => <NameCell value={row.agent} /> },
  { key: 'idle', title: 'Idle', rank: 3, render: (row) => <Idle row={row} /> },
  { key: 'cost', title: 'Cost', rank: 3, render: (row) => <Cost row={row} /> },
  { key: 'tokens', title: 'Tokens', rank: 3, render: (row) => <Tokens row={row} /> },
  { key: 'seen', title: 'Last seen', rank: 3, render: (row) => <LastSeen row={row} /> },
];

type Cell = { readonly row: WorkerRow };

const LastSeen = ({ row }: Cell) => (
  <span class="muted">
    <Since sinceMs={row.lastSeenMs} />
  </span>
);

const State = ({ row }: Cell) => (
  <span data-unjudged={isUnjudged(row) || undefined} data-waiting={isWaiting(row) || undefined}>
    <StateMark state={row.state} note={noteOf(row)} />
  </span>
);

/** Whether it waits for background work, a limit, a person or a hold. Its mark is then a ring. */
const isWaiting = (row: WorkerRow): boolean => row.isWaiting || row.awaitsInput || row.waitsFor === 'hold';

function noteOf(row: WorkerRow): string | null {
  if (isUnjudged(row)) return 'not judged';
  if (row.state === 'stopped') return null;
  const presence = row.presence;
  if (presence !== 'active') return presence;
  return row.isWaiting ? 'waiting' : row.awaitsInput ? 'asks' : row.waitsFor === 'hold' ? 'held' : null;
}

/** The status in one sentence. Only workers that may need a person stand out. */
function Why({ row }: Cell) {
  const rank = rankOf(row);
  const isPlain = rank === 'working' || rank === 'idle' || (rank === 'stopped' && row.lastCause !== 'capped');
  const untilMs = row.waitsFor === null ? null : row.waitUntilMs;
  return (
    <span
      class={['why', waitsForPerson(row) && 'strong', isPlain && 'muted'].filter(Boolean).join(' ')}
      title={visible(row.sentence)}
    >
      {row.isAcknowledged && <span class="tag">acknowledged</span>}
      {isPaused(row, shownMs.value) && <PausedTag row={row} />}
      <bdi>{visible(withoutName(row.sentence, row.id))}</bdi>
      {untilMs !== null && <span class="age">, {duration(Math.max(0, untilMs - shownMs.value))} left</span>}
    </span>
  );
}

/** Shows the remaining time of a pause. */
const PausedTag = ({ row: { pausedBy, pausedUntilMs } }: Cell) => (
  <span class="tag" title={`by ${visible(pausedBy ?? '')}${pausedUntilMs === null ? ', until its session ends' : ''}`}>
    paused
    {pausedUntilMs !== null && <span class="age">, {age(pausedUntilMs - shownMs.value + 999)} left</span>}
  </span>
);

function Retries({ row }: Cell) {
  const [count, max] = [row.retryCount, row.retryMax];
  if (count === 0) return <NoValue />;
  return `${count}${max === null ? '' : ` of ${max}`}`;
}

function Idle({ row }: Cell) {
  const since = row.idleSinceMs;
  const limit = row.idleLimitMs;
  // Without a limit, it says no more than the time in its state.
  if (since === null || limit === null || row.state === 'stopped') return <NoValue />;
  return (
    <span>
      <Since sinceMs={since} />
      <span class="muted"> of {age(limit)}</span>
    </span>
  );
}

function Tasks({ row }: Cell) {
  const task = row.task;
  if (task === null) return <NoValue />;
  return (
    <>
      <ActorLink entity="task" id={task} />
      {row.tasksHeld > 1 && <span class="muted"> +{row.tasksHeld - 1}</span>}
    </>
  );
}

/** A worker has a title once a person has prompted it. */
const hasTitles = ({ workers }: FleetStore): boolean => [...workers.values()].some(({ title }) => title !== null);

/** Without persistence, an idle worker waits for nothing. Read when workers come, not at each change of a row. */
const hasIdleLimit = ({ workers }: FleetStore): boolean =>
  [...workers.values()].some(({ idleLimitMs }) => idleLimitMs !== null);

export function WorkerList() {
  const fleet = shownFleet.value;
  void fleet.ids.value;
  if (fleet.loaded.value && fleet.workers.size === 0) return <NoWorkers />;
  return (
    <section aria-label="Workers">
      <StateStrip machine="worker" />
      <Filters
        total={fleet.workers.size}
        noun="worker"
        selects={[
          { name: 'presence', any: 'any presence', options: viewedPresences },
          { name: 'agent', any: 'any agent', options: valuesOf(fleet.workers.values(), 'agent') },
          { name: 'queue', any: 'any queue', options: valuesOf(fleet.workers.values(), 'queue') },
        ]}
      >
        <StripTools machine="worker" />
      </Filters>
      <OpenedStrip machine="worker" />
      <Grid
        label="Workers"
        columns={columnsWithout(workerColumns, {
          title: !hasTitles(fleet),
          cost: !fleet.isWorkerCostKnown.value,
          tokens: !fleet.areWorkerTokensKnown.value,
          idle: !hasIdleLimit(fleet),
        })}
        ids={listedIds.value}
        rowOf={(id) => rowIn(fleet, fleet.workers, id)}
        isOpened={(id) => route.value.worker === id}
        open={(id) => navigate(selection('worker', id))}
      />
    </section>
  );
}

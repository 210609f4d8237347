/** The lists of tasks and queues. */
import type { FleetStore } from '../data/fleet-store.ts';
import { shownFleet } from '../data/past.ts';
import { isUnattended, type QueueRow, type TaskRow } from '../data/rows.ts';
import { navigate, route, selection } from '../route.ts';
import { Link } from '../ui/controls.tsx';
import { count, withoutName } from '../ui/format.ts';
import { Excerpt, Name, Since, StateMark } from '../ui/text.tsx';
import { Filters, valuesOf } from './filters.tsx';
import { ActorLink, type Column, Cost, columnsWithout, Grid, NameCell, NoValue, rowIn, Tokens } from './grid.tsx';
import { attendantsOfQueue, figuresOfQueue, listedIds } from './listed-ids.ts';
import { OpenedStrip, StateStrip, StripTools } from './state-strip.tsx';

export function TaskList() {
  const fleet = shownFleet.value;
  void fleet.ids.value;
  if (fleet.loaded.value && fleet.tasks.size === 0) return <NoTasks />;
  return (
    <section aria-label="Tasks">
      <StateStrip machine="task" />
      <Filters
        total={fleet.tasks.size}
        noun="task"
        selects={[{ name: 'queue', any: 'any queue', options: valuesOf(fleet.tasks.values(), 'queue') }]}
      >
        <StripTools machine="task" />
      </Filters>
      <OpenedStrip machine="task" />
      <Grid
        label="Tasks"
        columns={columnsWithout(taskColumns, {
          priority: !hasPriorities(fleet),
          cost: !fleet.isTaskCostKnown.value,
          tokens: !fleet.areTaskTokensKnown.value,
        })}
        ids={listedIds.value}
        rowOf={(id) => rowIn(fleet, fleet.tasks, id)}
        isOpened={(id) => route.value.task === id}
        open={(id) => navigate(selection('task', id))}
      />
    </section>
  );
}

const taskColumns: readonly Column<TaskRow>[] = [
  { key: 'task', title: 'Task', render: (row) => <ActorLink entity="task" id={row.id} /> },
  { key: 'state', title: 'State', render: (row) => <StateMark state={row.state} /> },
  { key: 'since', title: 'For', render: (row) => <Since sinceMs={row.sinceMs} /> },
  { key: 'title', title: 'Title', render: (row) => <Title row={row} /> },
  { key: 'reason', title: 'Why', rank: 2, render: (row) => <Why row={row} /> },
  { key: 'worker', title: 'Worker', rank: 2, render: (row) => <Holder row={row} /> },
  { key: 'queue', title: 'Queue', rank: 3, render: (row) => <NameCell value={row.queue} /> },
  { key: 'priority', title: 'Priority', rank: 3, render: (row) => row.priority || <NoValue /> },
  { key: 'iteration', title: 'Iteration', rank: 3, render: (row) => <Iteration row={row} /> },
  { key: 'hooks', title: 'Hooks', rank: 3, render: (row) => (row.hooks === 0 ? <NoValue /> : row.hooks) },
  { key: 'cost', title: 'Cost', rank: 3, render: (row) => <Cost row={row} /> },
  { key: 'tokens', title: 'Tokens', rank: 3, render: (row) => <Tokens row={row} /> },
];

/** Without a title, the reason takes its place where the column of reasons is hidden. */
const Title = ({ row }: { row: TaskRow }) =>
  row.title === null ? (
    <>
      <span class="untitled">
        <NoValue />
      </span>
      <span class="instead muted">
        <Excerpt value={withoutName(row.sentence, row.id)} />
      </span>
    </>
  ) : (
    <Name value={row.title} />
  );

/** The column of workers says who holds it, so this one says what the holder does. */
const Why = ({ row }: { row: TaskRow }) =>
  row.worker !== null && row.state !== 'escalated' ? (
    <HolderSentence worker={row.worker} />
  ) : (
    <Excerpt value={withoutName(row.sentence, row.id)} />
  );

/** Reads the version, because the worker changes without its task. */
function HolderSentence({ worker }: { worker: string }) {
  const fleet = shownFleet.value;
  const row = rowIn(fleet, fleet.workers, worker);
  return row === undefined ? <NoValue /> : <Excerpt value={withoutName(row.sentence, worker)} />;
}

/** Read when tasks come, not at each change of a row. */
const hasPriorities = ({ tasks }: FleetStore): boolean => [...tasks.values()].some(({ priority }) => priority !== 0);

/** The worker that holds the task, and for how long. The state may have changed since the claim. */
const Holder = ({ row: { worker, heldSinceMs } }: { row: TaskRow }) =>
  worker === null ? (
    <NoValue />
  ) : (
    <>
      <ActorLink entity="worker" id={worker} />{' '}
      {heldSinceMs !== null && (
        <span class="muted">
          <Since sinceMs={heldSinceMs} />
        </span>
      )}
    </>
  );

const Iteration = ({ row }: { row: TaskRow }) =>
  row.iteration === null ? <NoValue /> : `${row.iteration} of ${row.maxIterations}`;

const NoTasks = () => (
  <div class="empty">
    <h2>No tasks yet</h2>
    <p>Create one with an entry:</p>
    <pre>{`npx stopgate publish task T-1 task.created '{"title":"Fix the login"}'`}</pre>
  </div>
);

/** All queues: the filter and the table. */
export function QueueList() {
  const fleet = shownFleet.value;
  void fleet.version.value;
  const hasReports = [...fleet.queues.values()].some(({ reported }) => reported > 0);
  return (
    <section aria-label="Queues">
      <Filters total={fleet.queues.size} noun="queue" selects={[]} />
      <Grid
        label="Queues"
        columns={columnsWithout(queueColumns, { reported: !hasReports })}
        ids={listedIds.value}
        rowOf={(id) => rowIn(fleet, fleet.queues, id)}
        isOpened={() => false}
        open={(id) => navigate({ view: 'tasks', queue: id })}
      />
    </section>
  );
}

const queueColumns: readonly Column<QueueRow>[] = [
  { key: 'queue', title: 'Queue', render: (row) => <TasksLink queue={row.id} /> },
  { key: 'pending', title: 'Pending tasks', render: (row) => count(row.pending) },
  { key: 'oldest', title: 'Oldest waits', render: ({ id }) => <Oldest queue={id} /> },
  { key: 'done', title: 'Done in an hour', rank: 2, render: ({ id }) => count(figuresOfQueue(id).done) },
  { key: 'attended', title: 'Attended by', render: (row) => <Attendants row={row} /> },
  { key: 'reported', title: 'From elsewhere', rank: 2, render: (row) => count(row.reported) },
];

/** More names would not fit into the column. */
const attendantsShown = 2;

/** The workers that take tasks from the queue. A queue with tasks and no worker is marked. */
function Attendants({ row }: { row: QueueRow }) {
  if (isUnattended(row))
    return (
      <b data-verdict-kind="escalated" class="answer">
        unattended: no worker
      </b>
    );
  const names = attendantsOfQueue(row.id);
  if (names.length === 0) return <NoValue />;
  return (
    <>
      {names.slice(0, attendantsShown).map((id, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <ActorLink entity="worker" id={id} />
        </span>
      ))}
      {names.length > attendantsShown && ` and ${count(names.length - attendantsShown)} more`}
    </>
  );
}

function Oldest({ queue }: { queue: string }) {
  const { oldestMs } = figuresOfQueue(queue);
  return oldestMs === null ? <NoValue /> : <Since sinceMs={oldestMs} />;
}

const TasksLink = ({ queue }: { queue: string }) => (
  <Link to={{ view: 'tasks', queue }} tabIndex={-1}>
    <Name value={queue} />
  </Link>
);

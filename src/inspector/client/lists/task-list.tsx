/** All tasks, the escalated first: the strip of states, the filters and the table. */
import { shownFleet } from '../data/past.ts';
import { type TaskRow, t } from '../data/row-fields.ts';
import { navigate, route, selection } from '../route.ts';
import { StateMark } from '../ui/state-mark.tsx';
import { stateOf } from '../ui/states.ts';
import { Filters, valuesOf } from './filters.tsx';
import { type Column, Grid, rowIn } from './grid.tsx';
import { ActorLink, NameCell, NoValue } from './list-cells.tsx';
import { listedIds } from './listed-ids.ts';
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
        selects={[{ name: 'queue', any: 'any queue', options: valuesOf(fleet.tasks.values(), t.queue) }]}
      >
        <StripTools machine="task" />
      </Filters>
      <OpenedStrip machine="task" />
      <Grid
        label="Tasks"
        columns={columns}
        ids={listedIds.value}
        rowOf={(id) => rowIn(fleet, fleet.tasks, id)}
        isOpened={(id) => route.value.task === id}
        open={(id) => navigate(selection('task', id))}
      />
    </section>
  );
}

const columns: readonly Column<TaskRow>[] = [
  { key: 'task', title: 'Task', render: (row) => <ActorLink entity="task" id={row[t.id]} /> },
  { key: 'state', title: 'State', render: (row) => <StateMark state={stateOf(row[t.state])} note={row[t.outcome]} /> },
  { key: 'title', title: 'Title', render: (row) => <NameCell value={row[t.title]} /> },
  { key: 'worker', title: 'Worker', rank: 2, render: (row) => <Holder worker={row[t.worker]} /> },
  { key: 'queue', title: 'Queue', rank: 3, render: (row) => <NameCell value={row[t.queue]} /> },
  { key: 'iteration', title: 'Iteration', rank: 3, render: (row) => <Iteration row={row} /> },
  { key: 'hooks', title: 'Hooks', rank: 3, render: (row) => (row[t.hooks] === 0 ? <NoValue /> : row[t.hooks]) },
];

const Holder = ({ worker }: { worker: string | null }) =>
  worker === null ? <NoValue /> : <ActorLink entity="worker" id={worker} />;

const Iteration = ({ row }: { row: TaskRow }) =>
  row[t.iteration] === null ? <NoValue /> : `${row[t.iteration]} of ${row[t.maxIterations]}`;

const NoTasks = () => (
  <div class="empty">
    <h2>No tasks yet</h2>
    <p>Create one with an entry:</p>
    <pre>{`npx stopgate publish task T-1 task.created '{"title":"Fix the login"}'`}</pre>
  </div>
);

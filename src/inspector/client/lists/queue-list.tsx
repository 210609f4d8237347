/** All queues: the filter and the table. */
import { shownFleet } from '../data/past.ts';
import { type QueueRow, q } from '../data/row-fields.ts';
import { navigate } from '../route.ts';
import { count } from '../ui/format.ts';
import { Link } from '../ui/link.tsx';
import { Name } from '../ui/text.tsx';
import { Filters } from './filters.tsx';
import { type Column, Grid, rowIn } from './grid.tsx';
import { listedIds } from './listed-ids.ts';

export function QueueList() {
  const fleet = shownFleet.value;
  void fleet.ids.value;
  return (
    <section aria-label="Queues">
      <Filters total={fleet.queues.size} noun="queue" selects={[]} />
      <Grid
        label="Queues"
        columns={columns}
        ids={listedIds.value}
        rowOf={(id) => rowIn(fleet, fleet.queues, id)}
        isOpened={() => false}
        open={(id) => navigate({ view: 'tasks', queue: id })}
      />
    </section>
  );
}

const columns: readonly Column<QueueRow>[] = [
  { key: 'queue', title: 'Queue', render: (row) => <TasksLink queue={row[q.id]} /> },
  { key: 'pending', title: 'Pending tasks', render: (row) => count(row[q.pending]) },
  { key: 'reported', title: 'Reported from elsewhere', rank: 2, render: (row) => count(row[q.reported]) },
];

const TasksLink = ({ queue }: { queue: string }) => (
  <Link to={{ view: 'tasks', queue }} tabIndex={-1}>
    <Name value={queue} />
  </Link>
);

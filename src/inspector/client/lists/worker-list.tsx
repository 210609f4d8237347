/** All workers: the chart, the counts, the filters, the overview and the table. */
import { presences } from '../../../../machines/values/states.ts';
import { FleetChart } from '../chart/fleet-chart.tsx';
import { shownFleet } from '../data/past.ts';
import { w } from '../data/row-fields.ts';
import { navigate, route, selected, selection } from '../route.ts';
import { Filters, valuesOf } from './filters.tsx';
import { Grid, rowIn } from './grid.tsx';
import { listedIds } from './listed-ids.ts';
import { NoWorkers } from './no-workers.tsx';
import { Overview } from './overview.tsx';
import { StateCounts } from './state-counts.tsx';
import { workerColumns } from './worker-columns.tsx';

export function WorkerList() {
  const fleet = shownFleet.value;
  void fleet.ids.value;
  if (fleet.loaded.value && fleet.workers.size === 0) return <NoWorkers />;
  return (
    <section aria-label="Workers">
      {selected.value === null && <FleetChart machine="worker" />}
      <StateCounts machine="worker" />
      <Filters
        total={fleet.workers.size}
        noun="worker"
        selects={[
          { name: 'presence', any: 'any presence', options: presences },
          { name: 'agent', any: 'any agent', options: valuesOf(fleet.workers.values(), w.agent) },
          { name: 'queue', any: 'any queue', options: valuesOf(fleet.workers.values(), w.queue) },
        ]}
      />
      <Overview />
      <Grid
        label="Workers"
        columns={workerColumns}
        ids={listedIds.value}
        rowOf={(id) => rowIn(fleet, fleet.workers, id)}
        isOpened={(id) => route.value.worker === id}
        open={(id) => navigate(selection('worker', id))}
      />
    </section>
  );
}

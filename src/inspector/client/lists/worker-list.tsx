/** All workers, what waits for a person first: the strip of states, the filters and the table. */
import { presences } from '../../../../machines/values/states.ts';
import { shownFleet } from '../data/past.ts';
import { w } from '../data/row-fields.ts';
import { navigate, route, selection } from '../route.ts';
import { Filters, valuesOf } from './filters.tsx';
import { Grid, rowIn } from './grid.tsx';
import { listedIds } from './listed-ids.ts';
import { NoWorkers } from './no-workers.tsx';
import { OpenedStrip, StateStrip, StripTools } from './state-strip.tsx';
import { workerColumns } from './worker-columns.tsx';

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
          { name: 'presence', any: 'any presence', options: presences },
          { name: 'agent', any: 'any agent', options: valuesOf(fleet.workers.values(), w.agent) },
          { name: 'queue', any: 'any queue', options: valuesOf(fleet.workers.values(), w.queue) },
        ]}
      >
        <StripTools machine="worker" />
      </Filters>
      <OpenedStrip machine="worker" />
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

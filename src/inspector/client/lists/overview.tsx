/** The whole fleet at a glance: names if there are few workers, otherwise one small cell for each on a canvas. */

import { visible } from '../../visible-text.ts';
import { shownFleet } from '../data/past.ts';
import { type WorkerRow, w } from '../data/row-fields.ts';
import { route, selection } from '../route.ts';
import { Link } from '../ui/link.tsx';
import { presenceOf, stateOf } from '../ui/states.ts';
import { listedIds } from './listed-ids.ts';
import { WorkerCanvas } from './worker-canvas.tsx';

const namesMax = 200;

export function Overview() {
  const { workers, version } = shownFleet.value;
  const ids = listedIds.value;
  if (ids.length > namesMax) return <WorkerCanvas ids={ids} />;
  void version.value;
  return (
    <ul class="chips" aria-label="Workers at a glance">
      {ids.map((id) => {
        const row = workers.get(id);
        return row === undefined ? null : <Chip key={id} row={row} />;
      })}
    </ul>
  );
}

function Chip({ row }: { row: WorkerRow }) {
  const id = row[w.id];
  const state = stateOf(row[w.state]);
  const presence = presenceOf(row[w.presence]);
  return (
    <li>
      <Link
        class="chip"
        to={selection('worker', id)}
        data-state={state}
        data-presence={presence}
        aria-current={route.value.worker === id ? 'true' : undefined}
      >
        <i class="dot" aria-hidden="true" />
        <bdi>{visible(id)}</bdi>
        <span class="sr-only">, {presence === 'active' ? state : `${state}, ${presence}`} </span>
        {row[w.retryCount] > 0 && state !== 'stopped' && (
          <span class="tally" title="blocks in a row">
            {row[w.retryCount]}
          </span>
        )}
      </Link>
    </li>
  );
}

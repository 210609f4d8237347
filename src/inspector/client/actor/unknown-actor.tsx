/** In place of an actor that has no entries: why, and what will make it appear. */
import { isId } from '../../../../machines/values/id.ts';
import { isPast } from '../data/past.ts';
import { Name } from '../ui/text.tsx';

export const UnknownActor = ({ entity, id }: { entity: 'worker' | 'task'; id: string }) => (
  <div class="pad">
    <p>
      There is no {entity}{' '}
      <b>
        <Name value={id} />
      </b>
      {isPast.value ? ' at this entry.' : ' yet.'}
    </p>
    <p class="muted">{hintFor(id)}</p>
  </div>
);

function hintFor(id: string): string {
  if (!isId(id)) return 'This is not an id: ids consist of letters, digits, _ and -, at most 128.';
  if (isPast.value) return 'It appears with its first entry: go to a later one.';
  return 'It appears here with its first entry.';
}

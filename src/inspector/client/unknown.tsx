import { isId } from '../../../machines/values/id.ts';
import { isPast } from './past.ts';
import { Name } from './text.tsx';

/** Of whom nothing is known: what to do about it. */
export const Unknown = ({ entity, id }: { entity: 'worker' | 'task'; id: string }) => (
  <div class="pad">
    <p>
      No {entity}{' '}
      <b>
        <Name value={id} />
      </b>{' '}
      is known{isPast.value ? ' at this entry' : ''}.
    </p>
    <p class="muted">
      {!isId(id)
        ? 'It can be none: names have letters, digits, _ and - only, 128 at most.'
        : isPast.value
          ? 'It becomes known with the first entry about it: go on to a later one.'
          : 'It becomes known with the first entry about it; this page then shows it by itself.'}
    </p>
  </div>
);

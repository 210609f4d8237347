/** Table cells that several lists share. */
import { shownMs } from '../data/past.ts';
import { selection } from '../route.ts';
import { ago } from '../ui/format.ts';
import { Link } from '../ui/link.tsx';
import { Name } from '../ui/text.tsx';

/** Not in the tab order: the row is, and Enter opens it. */
export const ActorLink = ({ entity, id }: { entity: 'worker' | 'task'; id: string }) => (
  <Link to={selection(entity, id)} tabIndex={-1}>
    <Name value={id} />
  </Link>
);

export const NameCell = ({ value }: { value: string | null }) =>
  value === null ? <NoValue /> : <Name value={value} />;

export const NoValue = () => (
  <span class="muted" aria-hidden="true">
    –
  </span>
);

/** A component of its own, so that the clock renders only this text every second, and not the row around it. */
export const Ago = ({ thenMs }: { thenMs: number }) => <span class="muted">{ago(thenMs, shownMs.value)}</span>;

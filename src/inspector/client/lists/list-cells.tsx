/** Table cells that several lists share. */
import { selection } from '../route.ts';
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

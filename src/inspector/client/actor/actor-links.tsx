/** Links to workers or tasks. */
import { selection } from '../route.ts';
import { Link } from '../ui/link.tsx';
import { Name } from '../ui/text.tsx';

const linksMax = 12;

export const ActorLinks = ({ entity, ids }: { entity: 'worker' | 'task'; ids: readonly string[] }) => (
  <span class="links">
    {ids.slice(0, linksMax).map((id) => (
      <Link key={id} to={selection(entity, id)}>
        <Name value={id} />
      </Link>
    ))}
    {ids.length > linksMax && <span class="muted">and {ids.length - linksMax} more</span>}
  </span>
);

/** All actors with their states, each below its parent. */

import { activePaths } from '../../chart/foreign-states.ts';
import { type Actor, type Actors, inOrder } from './actors.ts';

type Props = { readonly actors: Actors; readonly selected: string; readonly onSelect: (id: string) => void };

export const ActorList = ({ actors, selected, onSelect }: Props) => (
  <nav aria-label="Actors">
    <ul class="actors">
      {inOrder(actors).map(({ actor, depth }) => (
        <li key={actor.id} style={{ '--depth': depth }}>
          <button type="button" aria-current={actor.id === selected} onClick={() => onSelect(actor.id)}>
            <bdi class="name">{actor.name}</bdi>
            <bdi class="value">{stateOf(actor)}</bdi>
          </button>
        </li>
      ))}
    </ul>
  </nav>
);

/** The innermost active states, or how the actor ended. */
function stateOf({ snapshot }: Actor): string {
  if (snapshot === null) return '';
  const { status, value } = snapshot;
  if (status !== undefined && status !== 'active') return String(status);
  const paths = [...activePaths(value)];
  const innermost = paths.filter((path) => !paths.some((other) => other.startsWith(`${path}.`)));
  return innermost.join(', ').slice(0, 100);
}

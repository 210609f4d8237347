/** The inbox: who waits for a person, one after the other, by keyboard or thumb. When one is done the next comes. */
import { isPast } from '../data/past.ts';
import { plural } from '../ui/format.ts';
import { Card, marked } from './card.tsx';
import { act } from './inbox-keys.ts';
import { chosenItems } from './many.ts';
import { placeIn } from './place.ts';
import { waiting, waitingKey } from './waiting.ts';

export function Inbox() {
  const items = waiting.value;
  const current = items[placeIn(items)];
  const chosen = chosenItems();
  if (isPast.value) return <p class="muted pad">The inbox is about now. Go back to live to see it.</p>;
  if (items.length === 0) return <NobodyWaits />;
  return (
    <section class="inbox" aria-label="Inbox">
      <p class="inbox-head">
        <b>{plural(items.length, 'waits', 'wait')} for a person</b>
        {chosen.length > 0 && <MarkedActions count={chosen.length} />}
      </p>
      <ol class="cards">
        {items.map((item) => (
          <Card key={waitingKey(item)} item={item} isCurrent={item === current} />
        ))}
      </ol>
    </section>
  );
}

const NobodyWaits = () => (
  <div class="empty">
    <h2>Nobody waits for you</h2>
    <p>Escalations and questions of agents come here by themselves, those that wait longest first.</p>
  </div>
);

const MarkedActions = ({ count }: { count: number }) => (
  <span class="buttons">
    <span>{count} marked:</span>
    <button type="button" onClick={() => act('acknowledge')}>
      Acknowledge all
    </button>
    <button type="button" onClick={() => act('resume')}>
      Resume all…
    </button>
    <button type="button" onClick={() => act('stop')}>
      Stop all…
    </button>
    <button
      type="button"
      class="link"
      onClick={() => {
        marked.value = new Set();
      }}
    >
      Unmark
    </button>
  </span>
);

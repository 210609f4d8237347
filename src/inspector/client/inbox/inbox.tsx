/** The inbox: who waits for a person, one after the other, by keyboard or thumb. When one is done the next comes. */
import { useEffect } from 'preact/hooks';
import { isPast } from '../data/past.ts';
import { selected } from '../route.ts';
import { plural } from '../ui/format.ts';
import { Card, marked } from './card.tsx';
import { act } from './inbox-keys.ts';
import { holdList, isOutdated, listed, sortList } from './listed.ts';
import { chosenItems } from './many.ts';
import { noteSeen } from './place.ts';
import { inboxSize, waitingKey } from './waiting.ts';

export function Inbox() {
  const items = isPast.value ? [] : listed.value;
  const topic = selected.value;
  const open = topic === null ? null : waitingKey(topic);
  // Run once it is drawn.
  useEffect(() => noteSeen(items, open), [items, open]);
  useEffect(() => () => noteSeen([], null), []);
  if (isPast.value) return <p class="muted pad">The inbox is about now. Go back to live to see it.</p>;
  if (items.length === 0) return <NobodyWaits />;
  return (
    <section
      class="inbox"
      aria-label="Inbox"
      onPointerMove={() => holdList(true)}
      onPointerLeave={() => holdList(false)}
    >
      <p class="inbox-head">
        <b>
          {inboxSize.value === 0 ? 'Nobody waits for you' : `${plural(inboxSize.value, 'waits', 'wait')} for a person`}
        </b>
        {isOutdated.value && (
          <button type="button" class="link" onClick={sortList}>
            Sort again
          </button>
        )}
      </p>
      <ol class="cards">
        {items.map((item) => (
          <Card key={item.key} item={item} isCurrent={item.key === open} />
        ))}
      </ol>
      <MarkedActions />
    </section>
  );
}

const NobodyWaits = () => (
  <div class="empty">
    <h2>Nobody waits for you</h2>
    <p>Escalations and questions of agents come here by themselves, those that wait longest first.</p>
  </div>
);

/** Over the end of the list, so that marking moves nothing. */
function MarkedActions() {
  const count = chosenItems().length;
  if (count === 0) return null;
  return (
    <p class="buttons marked">
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
    </p>
  );
}

/** The inbox: who waits for a person, one after the other, by keyboard or thumb. When one is done the next comes. */
import { useEffect, useRef } from 'preact/hooks';
import { visible } from '../../visible-text.ts';
import { liveFleet } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { rankOf, sinceMsOf } from '../data/rows.ts';
import { selected, selection } from '../route.ts';
import { Link } from '../ui/controls.tsx';
import { plural } from '../ui/format.ts';
import { For } from '../ui/text.tsx';
import { act } from './inbox-keys.ts';
import { holdList, isOutdated, type Listed, listed, noteSeen, sortList } from './place.ts';
import { chosenItems, inboxSize, marked, toggleMark, type Waiting, waitingKey } from './waiting.ts';

/** One item of the inbox: who, why, and for how long. */
function Card({ item, isCurrent }: { item: Listed; isCurrent: boolean }) {
  const { key, isGone } = item;
  const found = describe(item);
  // The row has no more to say of one that is gone.
  const lastText = useRef('');
  if (!isGone) lastText.current = found.text;
  const { id: title } = item;
  const { sinceMs, note, text } = isGone ? { sinceMs: null, note: 'waits no more', text: lastText.current } : found;
  const card = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) card.current?.scrollIntoView({ block: 'nearest' });
  }, [isCurrent]);
  return (
    <li
      ref={card}
      class="card"
      data-entity={item.entity}
      data-id={item.id}
      data-current={isCurrent || undefined}
      data-gone={isGone || undefined}
    >
      <input
        type="checkbox"
        aria-label={`Mark ${item.entity} ${item.id}`}
        checked={marked.value.has(key)}
        disabled={isGone}
        onChange={() => toggleMark(key)}
      />
      <Link to={selection(item.entity, item.id)} aria-current={isCurrent ? 'true' : undefined}>
        <span class="card-head">
          <b>
            <bdi>{visible(title)}</bdi>
          </b>
          <span class="tag" data-note={note}>
            {note}
          </span>
          <span class="muted">{sinceMs !== null && <For sinceMs={sinceMs} />}</span>
        </span>
        <span class="card-text">
          <bdi>{visible(text)}</bdi>
        </span>
      </Link>
    </li>
  );
}

function describe({ entity, id }: Waiting) {
  void liveFleet.version.value;
  const row = liveFleet.workers.get(id);
  if (entity === 'task' || row === undefined) {
    const task = liveFleet.tasks.get(id);
    const worker = task?.escalatedWith ?? null;
    const left = worker === null ? null : `Escalated with ${worker}, and still waits; ${worker} no longer does`;
    const text = [left, task?.sentence, task?.title].filter(Boolean).join(' · ');
    return { text, sinceMs: task?.stateSinceMs ?? null, note: 'task' };
  }
  const note = { asks: 'asks', acknowledged: 'acknowledged' }[rankOf(row) as string] ?? 'escalated';
  return { text: row.sentence, sinceMs: sinceMsOf(row), note };
}

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

/** The buttons for all that are marked. They lie over the end of the list, so that marking moves nothing. */
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

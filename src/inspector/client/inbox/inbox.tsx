/** The inbox: everything that waits for a person, to be handled one by one. When one is done, the next is opened. */
import { Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { workerStates } from '../../../../machines/values/states.ts';
import { visible } from '../../visible-text.ts';
import { liveFleet } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { rankOf } from '../data/rows.ts';
import { SearchField, showAll } from '../lists/filters.tsx';
import { requestAction } from '../operator/operator-actions.ts';
import { route, selected, selection } from '../route.ts';
import { Button, Link } from '../ui/controls.tsx';
import { count, plural, withoutName } from '../ui/format.ts';
import { Left, Since } from '../ui/text.tsx';
import { heldByMouse } from '../ui/use-held.ts';
import { noteOnWorker, taskWaitSinceOf, waitSinceOf } from './find-waiting.ts';
import { act } from './inbox-keys.ts';
import { holdList, isOutdated, type Listed, listed, noteSeen, sortList } from './open-item.ts';
import {
  chosenItems,
  found,
  foundQueues,
  goneNote,
  inboxCount,
  mark,
  marked,
  matterOf,
  snoozedCount,
  toggleMark,
  type Waiting,
  waitingKey,
  wake,
} from './waiting.ts';

/** `alike` is the number of hidden items that need the same answer. */
type CardProps = { readonly item: Listed; readonly isCurrent: boolean; readonly alike: number };

function Card({ item, isCurrent, alike }: CardProps) {
  const { key, isGone } = item;
  const now = describe(item);
  // Keep the last text of an item that is gone, because its row has changed.
  const lastText = useRef('');
  if (!isGone) lastText.current = now.text;
  const { sinceMs, note, text, untilMs } = isGone
    ? { sinceMs: null, note: goneNote(key), text: lastText.current, untilMs: null }
    : now;
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
        <span class="row card-head">
          <b>
            <bdi>{visible(item.id)}</bdi>
          </b>
          {now.title !== null && <bdi class="card-title">{visible(now.title)}</bdi>}
          {note !== null && (
            <span class="tag" data-note={note}>
              {note}
            </span>
          )}
          {alike > 0 && <span class="tag alike">and {count(alike)} more like this</span>}
          <span class="muted">{sinceMs !== null && <Since sinceMs={sinceMs} />}</span>
          {untilMs !== null && <Left untilMs={untilMs} />}
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
    if (task === undefined) return { title: null, text: '', sinceMs: null, note: null, untilMs: null };
    const text = [withoutName(task.sentence, id), noteOnWorker(liveFleet, task)].filter(Boolean).join(' · ');
    const note = task.isAcknowledged ? 'acknowledged' : null;
    return { title: task.title, text, sinceMs: taskWaitSinceOf(task), note, untilMs: null };
  }
  const text = withoutName(row.sentence, id).replace(/^Asks: /, '');
  // Most items are escalations, so only the others are marked.
  const note = { asks: 'asks', acknowledged: 'acknowledged' }[rankOf(row) as string] ?? null;
  return { title: null, text, sinceMs: waitSinceOf(row), note, untilMs: row.askUntilMs };
}

const held = heldByMouse(holdList);

export function Inbox() {
  const all = isPast.value ? [] : listed.value;
  const topic = selected.value;
  const open = topic === null ? null : waitingKey(topic);
  const groups = groupAlike(all, open);
  const items = groups.map(({ item }) => item);
  const alikeWith = new Map(groups.map(({ item, alike }) => [item, alike]));
  const card = (item: Listed) => (
    <Card key={item.key} item={item} alike={alikeWith.get(item) ?? 0} isCurrent={item.key === open} />
  );
  // In an effect, so that it runs after drawing.
  useEffect(() => noteSeen(items, open), [items, open]);
  useEffect(() => () => noteSeen([], null), []);
  if (isPast.value) return <p class="muted pad">The inbox shows the present only. Go back to live to see it.</p>;
  const { q } = route.value;
  if (items.length === 0 && inboxCount.value === 0 && q === '') return <NobodyWaits />;
  const firstTask = items.findIndex(({ entity }) => entity === 'task');
  const agents = firstTask < 0 ? items.length : firstTask;
  return (
    <section class="inbox" aria-label="Inbox" {...held}>
      <search class="row filters">
        <SearchField noun="item" />
        <InboxCount isSearch={q !== ''} />
        {found.value.length > 1 && <SelectAll items={found.value} />}
        <SnoozedNote />
        {isOutdated.value && (
          <Button class="link" onClick={sortList}>
            Sort again
          </Button>
        )}
        {q !== '' && (
          <Button class="link" onClick={showAll}>
            Show all
          </Button>
        )}
      </search>
      <ol class="cards">
        {items.slice(0, agents).map(card)}
        <UnattendedQueues />
        {items.slice(agents).map((item, index, left) => (
          <Fragment key={item.key}>
            {item.entity !== left[index - 1]?.entity && <Heading entity={item.entity} />}
            {card(item)}
          </Fragment>
        ))}
      </ol>
      <MarkedActions />
    </section>
  );
}

/** Shows the count that the header and the tab's title have, too. */
const InboxCount = ({ isSearch }: { isSearch: boolean }) => {
  const { value: all } = inboxCount;
  if (all === 0) return <b>Nobody waits for you</b>;
  const waits = `${plural(all, 'waits', 'wait')} for a person`;
  return <b>{isSearch ? `${count(found.value.length + foundQueues.value.length)} of ${waits}` : waits}</b>;
};

const SelectAll = ({ items, what = 'all' }: { items: readonly Waiting[]; what?: string }) => {
  const isMarked = items.every((item) => marked.value.has(waitingKey(item)));
  return (
    <Button class="link" onClick={() => (isMarked ? unmark() : mark(items))}>
      {isMarked ? 'Select none' : `Select ${what}`}
    </Button>
  );
};

/** Begins the tasks. While the list is held, agents that come later are below them. */
const Heading = ({ entity }: Pick<Waiting, 'entity'>) => {
  const tasks = found.value.filter((item) => item.entity === 'task');
  return (
    <li class="row card-group">
      {entity === 'worker' ? (
        <h3>New</h3>
      ) : (
        <>
          <h3>{plural(tasks.length, 'left-over task')}</h3>
          <span class="muted">No agent waits with {tasks.length === 1 ? 'it' : 'them'}.</span>
          {tasks.length > 1 && <SelectAll items={tasks} what="these" />}
        </>
      )}
    </li>
  );
};

/** Queues with tasks but without a worker. A new worker resolves this; an operator may acknowledge it. */
const UnattendedQueues = () => (
  <>
    {foundQueues.value.map(({ id, pending, reported, unattendedMs, acknowledgedBy }) => (
      <li key={id} class="unattended">
        <p role="status" data-entity="queue" data-id={id}>
          <Link to={{ view: 'tasks', queue: id, q: '' }}>
            <b>
              Queue <bdi>{visible(id)}</bdi>
            </b>
          </Link>
          : {plural(pending - reported, 'task waits', 'tasks wait')}, and there is no worker.{' '}
          <span class="muted">{unattendedMs !== null && <Since sinceMs={unattendedMs} />}</span> Start a worker for this
          queue.
        </p>
        {acknowledgedBy === null ? (
          <Button onClick={() => requestAction({ action: 'acknowledge', targets: [{ entity: 'queue', id }] })}>
            Acknowledge
          </Button>
        ) : (
          <span class="tag">
            acknowledged by <bdi>{visible(acknowledgedBy)}</bdi>
          </span>
        )}
      </li>
    ))}
  </>
);

/** Shown while the inbox is empty: how many agents work, and what will appear here. */
function NobodyWaits() {
  void liveFleet.version.value;
  const atWork = workerStates.reduce(
    (sum, state, index) =>
      sum + (['working', 'validating', 'blocked'].includes(state) ? (liveFleet.workerCounts[index] ?? 0) : 0),
    0,
  );
  return (
    <div class="empty done">
      <svg viewBox="0 0 48 48" width="48" height="48" aria-hidden="true">
        <path d="M11 25l9 9 18-20" />
      </svg>
      <h2>Nobody waits for you</h2>
      <p>
        {atWork === 0 ? 'No agent is at work. ' : `${plural(atWork, 'agent is', 'agents are')} at work. `}
        Escalations and questions appear here. The browser tab shows how many.
      </p>
      <p>
        <SnoozedNote />
      </p>
    </div>
  );
}

const unmark = () => {
  marked.value = new Set();
};

const SnoozedNote = () =>
  snoozedCount.value === 0 ? null : (
    <span class="muted">
      {plural(snoozedCount.value, 'item is', 'items are')} snoozed.{' '}
      <Button
        class="link"
        onClick={() => {
          wake();
          sortList();
        }}
      >
        Show them
      </Button>
    </span>
  );

/**
 * Groups items that need the same answer. Shows the first of each group with the number of others, and the open one.
 */
function groupAlike(items: readonly Listed[], open: string | null) {
  const groups = new Map<string, { item: Listed; alike: number }[]>();
  for (const item of items) {
    const name = item.isGone ? item.key : (matterOf(item) ?? item.key);
    const [first, ...others] = groups.get(name) ?? [];
    if (first === undefined) groups.set(name, [{ item, alike: 0 }]);
    else if (item.key === open) groups.set(name, [first, ...others, { item, alike: 0 }]);
    else first.alike += 1;
  }
  return [...groups.values()].flat();
}

/** Buttons for the marked items. They overlay the end of the list, so that marking moves nothing. */
function MarkedActions() {
  const chosen = chosenItems().length;
  if (chosen === 0) return null;
  return (
    <p class="row buttons marked">
      <span>{count(chosen)} marked:</span>
      <Button onClick={() => act('acknowledge')}>Acknowledge all</Button>
      <Button onClick={() => act('resume')}>Resume all…</Button>
      <Button onClick={() => act('stop')}>Stop all…</Button>
      <Button onClick={() => act('retire')}>Retire all…</Button>
      <Button class="link" onClick={unmark}>
        Unmark
      </Button>
    </p>
  );
}

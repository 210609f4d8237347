/** The inbox: who waits for a person, one after the other, by keyboard or thumb. When one is done the next comes. */
import type { WorkerView } from '../../../../machines/index.ts';
import { get } from '../data/api.ts';
import { isPast, shownView } from '../data/past.ts';
import type { Shortcut } from '../keys.ts';
import { type OperatorAction, requestAction } from '../operator/operator-actions.ts';
import { suggestForMany, suggestPrompts } from '../operator/suggestions.ts';
import { navigate, selection } from '../route.ts';
import { plural } from '../ui/format.ts';
import { useShortcuts } from '../ui/use-shortcuts.ts';
import { Card, marked, toggleMark } from './card.tsx';
import { placeIn, usePlace } from './place.ts';
import { type Waiting, waiting, waitingKey } from './waiting.ts';

export function Inbox() {
  const items = waiting.value;
  const at = usePlace(items);
  const current = items[at];
  const chosen = chosenOf(items);
  useShortcuts(keys);
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

const chosenOf = (items: readonly Waiting[]) => items.filter((it) => marked.value.has(waitingKey(it)));

function act(action: OperatorAction): void {
  const items = waiting.peek();
  const chosen = chosenOf(items);
  const current = items[placeIn(items)];
  if (chosen.length > 0) void actOnMany(action, chosen);
  else if (current !== undefined) requestAction({ action, targets: [current], suggestions: suggestionsFor(current) });
}

function go(step: number): void {
  const items = waiting.peek();
  const next = items[Math.max(0, Math.min(items.length - 1, placeIn(items) + step))];
  if (next !== undefined) navigate(selection(next.entity, next.id), 'replace');
}

function mark(): void {
  const items = waiting.peek();
  const current = items[placeIn(items)];
  if (current !== undefined) toggleMark(waitingKey(current));
}

const where = 'Inbox';
/** They act on what is true when the key is pressed: the page may not have been drawn since the last one. */
const keys: readonly Shortcut[] = [
  { key: 'j', title: 'Next', where, run: () => go(1) },
  { key: 'k', title: 'Previous', where, run: () => go(-1) },
  { key: 'x', title: 'Mark, to act on many', where, run: mark },
  { key: 'a', title: 'Acknowledge', where, run: () => act('acknowledge') },
  { key: 'r', title: 'Resume with words', where, run: () => act('resume') },
  { key: 's', title: 'Stop', where, run: () => act('stop') },
];

/** More views than these would only delay the question. */
const viewsMax = 20;

async function actOnMany(action: OperatorAction, targets: readonly Waiting[]): Promise<void> {
  const workers = action === 'resume' ? targets.filter(({ entity }) => entity === 'worker').slice(0, viewsMax) : [];
  const views = await Promise.all(
    workers.map(({ id }) => get<WorkerView>(`get/worker/${encodeURIComponent(id)}`).catch(() => null)),
  );
  const suggestions = workers.length === 0 ? [] : suggestForMany(views.filter((it) => it !== null));
  requestAction({ action, targets, suggestions });
}

function suggestionsFor({ entity, id }: Waiting): string[] {
  const view = shownView.peek() as WorkerView | null | undefined;
  return entity === 'worker' && view?.worker === id ? suggestPrompts(view) : [];
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

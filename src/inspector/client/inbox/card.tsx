/** One item of the inbox: who, why, and for how long. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { questionIn } from '../../../../machines/values/question.ts';
import { visible } from '../../visible-text.ts';
import { liveFleet } from '../data/connection.ts';
import { t, w } from '../data/row-fields.ts';
import { rankOf, sinceMsOf } from '../lists/urgency.ts';
import { selection } from '../route.ts';
import { For } from '../ui/age.tsx';
import { Link } from '../ui/link.tsx';
import type { Listed } from './listed.ts';
import type { Waiting } from './waiting.ts';

/** To act on many at once: their keys. */
export const marked = signal<ReadonlySet<string>>(new Set());

export function Card({ item, isCurrent }: { item: Listed; isCurrent: boolean }) {
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

export function toggleMark(key: string): void {
  const next = new Set(marked.peek());
  if (!next.delete(key)) next.add(key);
  marked.value = next;
}

function describe({ entity, id }: Waiting) {
  void liveFleet.version.value;
  const row = liveFleet.workers.get(id);
  if (entity === 'task' || row === undefined) {
    const task = liveFleet.tasks.get(id);
    const worker = task?.[t.escalatedWith] ?? null;
    const left = worker === null ? null : `Escalated with ${worker}, and still waits; ${worker} no longer does`;
    const text = [left, questionIn(task?.[t.reason] ?? null), task?.[t.title]].filter(Boolean).join(' · ');
    return { text, sinceMs: task?.[t.stateSinceMs] ?? null, note: 'task' };
  }
  const note = { asks: 'asks', acknowledged: 'acknowledged' }[rankOf(row) as string] ?? 'escalated';
  const text = questionIn(row[w.reason]) ?? (row[w.awaitsInput] === 1 ? 'It asks a person for something.' : '');
  return { text, sinceMs: sinceMsOf(row), note };
}

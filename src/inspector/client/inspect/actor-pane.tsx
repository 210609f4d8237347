/** One actor: its chart, its snapshot, and its events. An event that is picked shows the actor as it was after it. */
import { useState } from 'preact/hooks';
import { time } from '../ui/format.ts';
import type { Actor, ReceivedEvent } from './actors.ts';
import { StatesSection } from './states-section.tsx';

const textLengthMax = 4_000;

export function ActorPane({ actor }: { actor: Actor }) {
  const { events, eventCount } = actor;
  const [picked, pick] = useState<number | null>(null);
  const then = events.find(({ number }) => number === picked) ?? null;
  const event = then ?? events.at(-1) ?? null;
  const snapshot = then?.after ?? actor.snapshot;
  return (
    <article aria-label={`Actor ${actor.name}`}>
      <StatesSection actor={actor} value={snapshot?.value} event={event} />
      <div class="beside">
        {then !== null && (
          <p class="then" role="status">
            After event {then.number} of {eventCount}, <bdi>{then.type}</bdi>.{' '}
            <button type="button" onClick={() => pick(null)}>
              Show the present
            </button>
          </p>
        )}
        <Snapshot snapshot={snapshot} before={then?.before ?? null} />
        <section aria-label="Events">
          <h2>
            Events <small>{eventCount}</small>
          </h2>
          {events.length === 0 ? <p class="muted">None yet.</p> : null}
          <ol class="events">
            {[...events].reverse().map((it) => (
              <EventLine key={it.number} received={it} isPicked={it.number === picked} pick={pick} />
            ))}
          </ol>
          {eventCount > events.length && <p class="muted">Only the last {events.length} are shown.</p>}
        </section>
      </div>
    </article>
  );
}

type SnapshotProps = { readonly snapshot: Actor['snapshot']; readonly before: Actor['snapshot'] };

function Snapshot({ snapshot, before }: SnapshotProps) {
  const { context, status, output, error } = snapshot ?? {};
  const changed = before === null ? [] : changedKeys(before.context, context);
  return (
    <section aria-label="Snapshot">
      <h2>
        Snapshot <small>{String(status ?? '')}</small>
      </h2>
      {before !== null && (
        <p class="muted">{changed.length === 0 ? 'The context did not change.' : `Changed: ${changed.join(', ')}.`}</p>
      )}
      <Json name="context" value={context} />
      {output !== undefined && <Json name="output" value={output} />}
      {error !== undefined && <Json name="error" value={error} />}
    </section>
  );
}

function changedKeys(before: unknown, after: unknown): string[] {
  const [old, now] = [before, after].map((it) => (typeof it === 'object' && it !== null ? (it as object) : {}));
  const fields = [old, now] as Record<string, unknown>[];
  return [...new Set(fields.flatMap((it) => Object.keys(it)))].filter(
    (key) => text(fields[0]?.[key]) !== text(fields[1]?.[key]),
  );
}

type EventLineProps = {
  readonly received: ReceivedEvent;
  readonly isPicked: boolean;
  readonly pick: (number: number | null) => void;
};

const EventLine = ({ received: { number, atMs, type, from, event, after }, isPicked, pick }: EventLineProps) => (
  <li>
    <details>
      <summary>
        <bdi>{type}</bdi> <small>{time(atMs)}</small>
      </summary>
      {from === null ? null : <p class="muted">sent by {from}</p>}
      <pre>{text(event)}</pre>
    </details>
    <button
      type="button"
      aria-pressed={isPicked}
      aria-label={`Show the actor after event ${number}, ${type}`}
      disabled={after === null}
      onClick={() => pick(isPicked ? null : number)}
    >
      {number}
    </button>
  </li>
);

/** A long value is truncated until the reader asks for all of it. */
function Json({ name, value }: { name: string; value: unknown }) {
  const [isExpanded, setExpanded] = useState(false);
  const all = text(value);
  const isTruncated = all.length > textLengthMax && !isExpanded;
  return (
    <>
      <h3>{name}</h3>
      <pre>{isTruncated ? `${all.slice(0, textLengthMax)}…` : all}</pre>
      {isTruncated && (
        <button type="button" onClick={() => setExpanded(true)}>
          Show all {all.length} characters
        </button>
      )}
    </>
  );
}

function text(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? 'nothing';
  } catch (error) {
    return String(error);
  }
}

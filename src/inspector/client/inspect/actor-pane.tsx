/** One actor: its states with the active ones marked, its snapshot, and its events. */
import { useState } from 'preact/hooks';
import type { Actor, ReceivedEvent } from './actors.ts';
import { activePaths, type StateNode } from './states.ts';

const textLengthMax = 4_000;
const eventsShown = 100;

export function ActorPane({ actor }: { actor: Actor }) {
  const { snapshot, states, events, eventCount } = actor;
  const { context, value, status, output, error } = snapshot ?? {};
  const active = activePaths(value);
  const last = events.at(-1)?.type ?? null;
  return (
    <article aria-label={`Actor ${actor.name}`}>
      <section aria-label="States">
        <h2>States</h2>
        {states === null ? (
          <p class="muted">{value === undefined ? 'This actor is not a state machine.' : text(value)}</p>
        ) : (
          <ul class="states">
            {states.transitions.length > 0 && <Transitions node={states} last={last} name="anywhere" />}
            {states.states.map((node) => (
              <State key={node.path} node={node} active={active} last={last} />
            ))}
          </ul>
        )}
      </section>
      <section aria-label="Snapshot">
        <h2>
          Snapshot <small>{String(status ?? '')}</small>
        </h2>
        <Json name="context" value={context} />
        {output !== undefined && <Json name="output" value={output} />}
        {error !== undefined && <Json name="error" value={error} />}
      </section>
      <section aria-label="Events">
        <h2>
          Events <small>{eventCount}</small>
        </h2>
        {events.length === 0 ? <p class="muted">None yet.</p> : null}
        <ol class="events" reversed start={eventCount}>
          {events
            .slice(-eventsShown)
            .reverse()
            .map((it) => (
              <EventLine key={it.number} received={it} />
            ))}
        </ol>
        {eventCount > eventsShown && (
          <p class="muted">Only the last {Math.min(eventsShown, events.length)} are shown.</p>
        )}
      </section>
    </article>
  );
}

type StateProps = { readonly node: StateNode; readonly active: ReadonlySet<string>; readonly last: string | null };

function State({ node, active, last }: StateProps) {
  const isActive = active.has(node.path);
  return (
    <li class="state" data-state={node.path} data-active={isActive || undefined} aria-current={isActive || undefined}>
      <span class="state-name">
        {isActive ? '● ' : ''}
        <bdi>{node.name}</bdi>{' '}
        <small>{[node.initial ? 'initial' : '', node.kind ?? ''].filter(Boolean).join(', ')}</small>
      </span>
      {node.transitions.length > 0 && (
        <ul>
          <Transitions node={node} last={isActive ? last : null} />
        </ul>
      )}
      {node.states.length > 0 && (
        <ul class="states">
          {node.states.map((child) => (
            <State key={child.path} node={child} active={active} last={last} />
          ))}
        </ul>
      )}
    </li>
  );
}

const Transitions = ({ node, last, name }: { node: StateNode; last: string | null; name?: string }) => (
  <>
    {node.transitions.map(({ on, guard, to }, at) => (
      <li key={at} class="transition" data-last={on === last || undefined}>
        {name === undefined ? '' : `${name}: `}
        <bdi>{on}</bdi>
        {guard === null ? '' : ` [${guard}]`}
        {to.length === 0 ? '' : ` → ${to.join(', ')}`}
      </li>
    ))}
  </>
);

const EventLine = ({ received: { atMs, type, from, event } }: { received: ReceivedEvent }) => (
  <li>
    <details>
      <summary>
        <bdi>{type}</bdi> <small>{new Date(atMs).toLocaleTimeString()}</small>
      </summary>
      {from === null ? null : <p class="muted">sent by {from}</p>}
      <pre>{text(event)}</pre>
    </details>
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

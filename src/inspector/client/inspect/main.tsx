/** The page at /inspect: the actors of any XState app that uses it as its inspector. Nothing leaves this machine. */
import { render as renderPage } from 'preact';
import { useEffect, useReducer, useState } from 'preact/hooks';
import { activePaths } from '../../chart/foreign-chart.ts';
import { time } from '../ui/format.ts';
import {
  type Actor,
  type Actors,
  applyFrame,
  inOrder,
  type ReceivedEvent,
  receive,
  receiveFromService,
} from './actors.ts';
import { StatesSection } from './states-section.tsx';
import './inspect.css';

/** All actors with their states, each below its parent. */
type Props = { readonly actors: Actors; readonly selected: string; readonly onSelect: (id: string) => void };

const ActorList = ({ actors, selected, onSelect }: Props) => (
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

const textLengthMax = 4_000;

/** One actor: its chart, its snapshot, and its events. An event that is picked shows the actor as it was after it. */
function ActorPane({ actor }: { actor: Actor }) {
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

const actors: Actors = new Map();
const app = { isConnected: false, origin: null as string | null };
let render = () => {};
let isScheduled = false;

/** Renders at most once per frame. */
function scheduleRender(): void {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    render();
  });
}

app.isConnected = receive(window, (frame, origin) => {
  app.origin = origin;
  applyFrame(actors, frame);
  scheduleRender();
});
if (!app.isConnected)
  receiveFromService(
    (frame) => {
      app.origin = location.origin;
      applyFrame(actors, frame);
      scheduleRender();
    },
    (isConnected) => {
      app.isConnected = isConnected;
      scheduleRender();
    },
  );

function Page() {
  const [, update] = useReducer((count: number) => count + 1, 0);
  const [selected, select] = useState<string | null>(null);
  useEffect(() => {
    render = () => update(undefined as never);
    render();
  }, []);
  const actor = actors.get(selected ?? '') ?? actors.values().next().value;
  return (
    <>
      <header>
        <h1>XState actors</h1>
        <p role="status">
          {!app.isConnected
            ? 'Not connected'
            : app.origin === null
              ? 'Connected, waiting for the first actor'
              : `From ${app.origin}`}
        </p>
      </header>
      {actor === undefined ? (
        <Empty />
      ) : (
        <main>
          <ActorList actors={actors} selected={actor.id} onSelect={select} />
          <ActorPane key={actor.id} actor={actor} />
        </main>
      )}
    </>
  );
}

const Empty = () => (
  <main class="empty">
    <h2>No actors yet</h2>
    <p>Use this page as the inspector of your app. Its actors appear here, and nothing leaves this machine.</p>
    <pre>
      {`import { createBrowserInspector } from '@statelyai/inspect';

const inspector = createBrowserInspector({ url: '${location.origin}/inspect' });
createActor(machine, { inspect: inspector.inspect }).start();`}
    </pre>
    <p>If the browser blocks the window that this opens, allow it for your app and reload.</p>
    <p>An app that has no browser sends to this page while it is open:</p>
    <pre>
      {`import { createWebSocketInspector } from '@statelyai/inspect';

const inspector = createWebSocketInspector({ url: '${location.origin.replace(/^http/, 'ws')}/inspect' });
createActor(machine, { inspect: inspector.inspect }).start();`}
    </pre>
  </main>
);

renderPage(<Page />, document.getElementById('app') as HTMLElement);

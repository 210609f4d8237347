/** The page at /inspect: the actors of any XState app that uses it as its inspector. Nothing leaves this machine. */
import { render as renderPage } from 'preact';
import { useEffect, useReducer, useState } from 'preact/hooks';
import { ActorList } from './actor-list.tsx';
import { ActorPane } from './actor-pane.tsx';
import { type Actors, applyFrame } from './actors.ts';
import './inspect.css';
import { receive } from './receiver.ts';

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
          {app.origin === null
            ? app.isConnected
              ? 'Connected, waiting for the first actor'
              : 'Not connected'
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
  </main>
);

renderPage(<Page />, document.getElementById('app') as HTMLElement);

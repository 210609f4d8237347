/** The page at /inspect: the actors of any XState app that names it as its inspector, without leaving this machine. */
import { render } from 'preact';
import { useEffect, useReducer, useState } from 'preact/hooks';
import { ActorList } from './actor-list.tsx';
import { ActorPane } from './actor-pane.tsx';
import { type Actors, hear } from './actors.ts';
import './inspect.css';
import { receive } from './receiver.ts';

const actors: Actors = new Map();
const app = { isOpened: false, site: null as string | null };
let redraw = () => {};
let due = false;

function onChange(): void {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    redraw();
  });
}

app.isOpened = receive(window, (frame, site) => {
  app.site = site;
  hear(actors, frame);
  onChange();
});

function Page() {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const [selected, select] = useState<string | null>(null);
  useEffect(() => {
    redraw = () => draw(undefined as never);
    redraw();
  }, []);
  const actor = actors.get(selected ?? '') ?? actors.values().next().value;
  return (
    <>
      <header>
        <h1>XState actors</h1>
        <p role="status">
          {app.site === null
            ? app.isOpened
              ? 'Connected. Waiting for the first actor.'
              : 'Not connected'
            : `From ${app.site}`}
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
    <h2>No actor yet</h2>
    <p>
      Name this page as the inspector of your app. What its actors do is shown here, and leaves this machine for
      nowhere.
    </p>
    <pre>
      {`import { createBrowserInspector } from '@statelyai/inspect';

const inspector = createBrowserInspector({ url: '${location.origin}/inspect' });
createActor(machine, { inspect: inspector.inspect }).start();`}
    </pre>
    <p>The browser may block the window that this opens: allow it for your app, and load it again.</p>
  </main>
);

render(<Page />, document.getElementById('app') as HTMLElement);

/** Starts the inspector's page. */
import { render } from 'preact';
import { App } from './app.tsx';
import { startClicks } from './clicks.ts';
import { startConnection } from './data/connection.ts';
import { startOutline } from './data/outline.ts';
import { startPast } from './data/past.ts';
import { inboxKeys, startInbox } from './inbox/inbox-keys.ts';
import { startKeys } from './keys.ts';
import { startListing } from './lists/listed-ids.ts';
import { renderByFrames } from './measure.ts';
import { pageKeys } from './page-keys.ts';
import { startTitle } from './title.ts';
import './styles/index.css';

renderByFrames();
startListing();
startPast();
startOutline();
startConnection();
startClicks();
startKeys([...pageKeys, ...inboxKeys]);
startInbox();
startTitle();
const root = document.querySelector('#app') as HTMLElement;
root.replaceChildren();
render(<App />, root);

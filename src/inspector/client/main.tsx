/** Starts the inspector's page. */
import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app.tsx';
import { basePath } from './data/base-path.ts';
import { startConnection } from './data/connection.ts';
import { startOutline } from './data/outline.ts';
import { startPast } from './data/past.ts';
import { inboxKeys, startInbox } from './inbox/inbox-keys.ts';
import { inboxCount } from './inbox/waiting.ts';
import { startKeys } from './keys.ts';
import { startListing } from './lists/listed-ids.ts';
import { renderByFrames } from './measure.ts';
import { PaletteContent, pageKeys } from './page-keys.tsx';
import { startPrinting } from './ui/printing.ts';
import './styles/index.css';

/** Buttons that act on an actor or in a dialog. */
const acting = ':is(.standing, .escalation, dialog) .buttons button, .marked button';

/**
 * Ignores the second click of a double-click on these buttons, because the button under the pointer may belong to the
 * next item by then.
 */
function startClicks(): void {
  addEventListener(
    'click',
    (event) => {
      if (event.detail < 2 || !(event.target instanceof Element) || event.target.closest(acting) === null) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    },
    { capture: true },
  );
}

const shownMax = 99;

/** Shows the number of waiting items in the tab's title and icon. */
function startTitle(): void {
  effect(() => {
    const count = inboxCount.value;
    document.title = count === 0 ? 'stopgate inspector' : `(${count}) stopgate inspector`;
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    // Drawn by the service, because the content security policy forbids images made by the page.
    if (icon !== null) icon.href = basePath() + (count === 0 ? 'favicon.ico' : `icon/${Math.min(count, shownMax)}.svg`);
  });
}

renderByFrames();
startListing();
startPast();
startOutline();
startConnection();
startClicks();
startKeys([...pageKeys, ...inboxKeys]);
startInbox();
startTitle();
startPrinting();
const root = document.querySelector('#app') as HTMLElement;
root.replaceChildren();
render(<App />, root);
PaletteContent.load().catch(() => undefined); // retried when it is opened

/** The keys that work in every view. */
import { connection, pauseByHand, reopen } from './data/connection.ts';
import { isHelpOpen } from './help-dialog.tsx';
import type { Shortcut } from './keys.ts';
import { openPalette } from './palette/palette.tsx';
import { navigate, noSelection } from './route.ts';

const where = 'Everywhere';
const searchField = () => document.querySelector<HTMLElement>('search input');

/** Those that need no service. */
export const fileKeys: readonly Shortcut[] = [
  { key: '?', title: 'Show all keys', where, run: () => (isHelpOpen.value = true) },
  { key: 'k', mod: true, title: 'Find a worker, task, policy or command', where, run: openPalette },
  { key: '/', title: 'Search the list', where, when: () => searchField() !== null, run: () => searchField()?.focus() },
  { key: 'w', title: 'Open the workers', where, run: () => navigate({ view: 'workers', ...noSelection }) },
];

export const pageKeys: readonly Shortcut[] = [
  ...fileKeys,
  { key: 'i', title: 'Open the inbox', where, run: () => navigate({ view: 'inbox', ...noSelection }) },
  {
    key: 'p',
    title: 'Pause updates, go on',
    where,
    run: () => (connection.peek() === 'paused' ? reopen() : pauseByHand()),
  },
];

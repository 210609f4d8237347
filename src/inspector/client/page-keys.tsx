/** The shortcuts of the whole page, and the dialog that lists all shortcuts. */
import { signal } from '@preact/signals';
import { connection, pauseByHand, reopen } from './data/connection.ts';
import { allShortcuts, otherKeys, type Shortcut } from './keys.ts';
import { pauseKeys } from './operator/pause.tsx';
import { navigate, noSelection } from './route.ts';
import { Button, createLazy, Dialog } from './ui/controls.tsx';

const isHelpOpen = signal(false);

const close = () => {
  isHelpOpen.value = false;
};

/** All shortcuts, grouped by where they work. */
export function HelpDialog() {
  if (!isHelpOpen.value) return null;
  const all = [
    ...allShortcuts().map(({ key, mod, title, where }) => ({ keys: `${mod ? 'Ctrl ' : ''}${key}`, title, where })),
    ...otherKeys,
  ];
  const places = [...new Set(all.map(({ where }) => where))];
  return (
    <Dialog title="Keys" close={close}>
      <Button class="close" aria-label="Close" title="Close (Escape)" onClick={close}>
        ✕
      </Button>
      <div class="key-columns">
        {places.map((place) => (
          <section key={place} class="keys" aria-label={place}>
            <h3>{place}</h3>
            <dl>
              {all
                .filter(({ where }) => where === place)
                .map(({ keys, title }) => (
                  <div key={title}>
                    <dt>
                      {keys.split(' ').map((key) => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </dt>
                    <dd>{title}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}

const isPaletteOpen = signal(false);
export const openPalette = (): void => {
  isPaletteOpen.value = true;
};
const closePalette = () => {
  isPaletteOpen.value = false;
};

/** Preloaded by main.tsx, so that it also works when the service is gone. */
export const PaletteContent = createLazy('the search', async () => (await import('./palette.tsx')).PaletteContent);

export const Palette = () =>
  isPaletteOpen.value ? (
    <Dialog title="Find" close={closePalette}>
      <PaletteContent close={closePalette} />
    </Dialog>
  ) : null;

const where = 'Everywhere';
const searchField = () => document.querySelector<HTMLElement>('search input');

export const pageKeys: readonly Shortcut[] = [
  { key: '?', title: 'Show all keys', where, run: () => (isHelpOpen.value = true) },
  { key: 'k', mod: true, title: 'Find a worker, task, policy or command', where, run: openPalette },
  { key: '/', title: 'Search the list', where, when: () => searchField() !== null, run: () => searchField()?.focus() },
  { key: 'w', title: 'Open the workers', where, run: () => navigate({ view: 'workers', ...noSelection }) },
  { key: 'i', title: 'Open the inbox', where, run: () => navigate({ view: 'inbox', ...noSelection }) },
  { key: 'v', title: 'Open the service', where, run: () => navigate({ view: 'service', ...noSelection }) },
  {
    key: 'p',
    title: 'Pause or resume updates',
    where,
    run: () => (connection.peek() === 'paused' ? reopen() : pauseByHand()),
  },
  ...pauseKeys,
];

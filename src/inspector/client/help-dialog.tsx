/** All keys, by where they work. */
import { signal } from '@preact/signals';
import { allShortcuts, otherKeys } from './keys.ts';
import { Dialog } from './ui/dialog.tsx';

export const isHelpOpen = signal(false);

const close = () => {
  isHelpOpen.value = false;
};

export function HelpDialog() {
  if (!isHelpOpen.value) return null;
  const all = [
    ...allShortcuts().map(({ key, mod, title, where }) => ({ keys: `${mod ? 'Ctrl ' : ''}${key}`, title, where })),
    ...otherKeys,
  ];
  const places = [...new Set(all.map(({ where }) => where))];
  return (
    <Dialog title="Keys" close={close}>
      <button type="button" class="close" aria-label="Close" title="Close (Escape)" onClick={close}>
        ✕
      </button>
      <div class="key-columns">
        {places.map((place) => (
          <section key={place} class="keys" aria-label={place}>
            <h3>{place}</h3>
            <dl>
              {all
                .filter(({ where }) => where === place)
                .map(({ keys, title }) => (
                  <div key={keys}>
                    <dt>
                      {keys.split(' ').map((it) => (
                        <kbd key={it}>{it}</kbd>
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

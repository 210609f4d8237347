/** Ctrl-K: one field that finds workers, tasks, queues, policies and commands. */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { visible } from '../../visible-text.ts';
import { Dialog } from '../ui/dialog.tsx';
import { type Command, findCommands } from './commands.ts';

const isPaletteOpen = signal(false);
export const openPalette = (): void => {
  isPaletteOpen.value = true;
};
const close = () => {
  isPaletteOpen.value = false;
};

export const Palette = () => (isPaletteOpen.value ? <OpenPalette /> : null);

function OpenPalette() {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const found = findCommands(text);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    close();
    // The dialog gives the focus back first.
    requestAnimationFrame(command.run);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((at + step + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter') run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Find" close={close}>
      <input
        type="text"
        role="combobox"
        aria-label="Find a worker, task, policy or command"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found.length > 0 ? `found-${at}` : undefined}
        placeholder="Worker, task, policy, command"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its keys are those of the field */}
      <ul id="found" class="found" role="listbox" aria-label="Found">
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
          <li
            key={`${command.kind}${command.title}`}
            id={`found-${index}`}
            // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: an option of the listbox
            role="option"
            aria-selected={index === at}
            onClick={() => run(command)}
          >
            <span class="tag">{command.kind}</span> <bdi>{visible(command.title.slice(0, 80))}</bdi>{' '}
            <span class="muted">{visible(command.note.slice(0, 80))}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="muted">Nothing matches. Try part of a name.</p>}
    </Dialog>
  );
}

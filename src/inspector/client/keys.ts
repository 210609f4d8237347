/** All keys of the page, in one list: what they do, and the help that names them. */
import { signal } from '@preact/signals';

export type Shortcut = {
  /** As `KeyboardEvent.key` gives it; `mod` is Ctrl, or Command on a Mac. */
  readonly key: string;
  readonly mod?: boolean;
  readonly title: string;
  /** Where it works, for the help. */
  readonly where: string;
  readonly run: () => void;
};

/** Keys that elements handle by themselves, for the help alone. */
export const otherKeys = [
  { keys: '↑ ↓ PgUp PgDn', title: 'Move in a list', where: 'Everywhere' },
  { keys: 'Enter', title: 'Open what is focused', where: 'Everywhere' },
  { keys: 'Ctrl Enter', title: 'Send', where: 'Dialogs' },
  { keys: '+ − 0', title: 'Zoom, fit', where: 'Chart' },
] as const;

const groups = signal<readonly (readonly Shortcut[])[]>([]);
export const shortcuts = (): readonly Shortcut[] => groups.value.flat();

/** @returns a function that takes them away */
export function addShortcuts(added: readonly Shortcut[]): () => void {
  groups.value = [...groups.peek(), added];
  return () => {
    groups.value = groups.peek().filter((it) => it !== added);
  };
}

export function startKeys(): void {
  addEventListener('keydown', (event) => {
    const isMod = event.ctrlKey || event.metaKey;
    if (event.defaultPrevented || event.altKey) return;
    // Not its target: for what is in a shadow root, as the editor is, that is the element around it.
    if (!isMod && (isTyping(event.composedPath()[0]) || document.querySelector('dialog[open]') !== null)) return;
    const found = shortcuts().find(({ key, mod = false }) => mod === isMod && key === event.key);
    if (found === undefined) return;
    event.preventDefault();
    found.run();
  });
}

const isTyping = (target: EventTarget | undefined): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches('input:not([type=checkbox], [type=radio], [type=range]), textarea, select'));

/** All keys of the page, in one list: what they do, and the help that names them. */
import { locked } from './data/api.ts';

export type Shortcut = {
  /** As `KeyboardEvent.key` gives it; `mod` is Ctrl, or Command on a Mac. */
  readonly key: string;
  readonly mod?: boolean;
  readonly title: string;
  /** The name of the place where it works, for the help. */
  readonly where: string;
  /** Tells whether it does something now; absent: always. */
  readonly when?: () => boolean;
  /** It goes on while the key is held down. */
  readonly repeats?: boolean;
  readonly run: () => void;
};

/** Keys that elements handle by themselves, for the help alone. */
export const otherKeys = [
  { keys: '↑ ↓ PgUp PgDn', title: 'Move in a list', where: 'Everywhere' },
  { keys: 'Enter', title: 'Open what is focused', where: 'Everywhere' },
  { keys: 'Escape', title: 'Close what is open', where: 'Everywhere' },
  { keys: '← →', title: 'Other section', where: 'Panel' },
  { keys: 'Ctrl Enter', title: 'Send', where: 'Dialogs' },
  { keys: '+ − 0', title: 'Zoom, fit', where: 'Chart' },
  { keys: '← ↑ ↓ →', title: 'From state to state', where: 'Chart' },
] as const;

let shortcuts: readonly Shortcut[] = [];
/** Returns all shortcuts, also those that do nothing in this view. */
export const allShortcuts = (): readonly Shortcut[] => shortcuts;
export const isUseful = ({ when }: Shortcut): boolean => when?.() ?? true;

/** Starts listening. Called before the page is drawn, so that no key is lost. */
export function startKeys(wanted: readonly Shortcut[]): void {
  shortcuts = wanted;
  addEventListener('keydown', (event) => {
    const isMod = event.ctrlKey || event.metaKey;
    if (event.defaultPrevented || event.altKey || locked.peek()) return;
    // Not its target: for what is in a shadow root, as the editor is, that is the element around it.
    if (!isMod && (isTyping(event.composedPath()[0]) || document.querySelector('dialog[open]') !== null)) return;
    const found = shortcuts.find(
      (shortcut) => (shortcut.mod ?? false) === isMod && shortcut.key === event.key && isUseful(shortcut),
    );
    if (found === undefined) return;
    event.preventDefault();
    if (!event.repeat || found.repeats === true) found.run();
  });
}

const isTyping = (target: EventTarget | undefined): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches('input:not([type=checkbox], [type=radio], [type=range]), textarea, select'));

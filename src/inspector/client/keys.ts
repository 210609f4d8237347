/** Keyboard shortcuts: one list for the key handler and the help. */
import { locked } from './data/api.ts';

export type Shortcut = {
  /** `KeyboardEvent.key`. With `mod`, Ctrl (Command on a Mac) must be held. */
  readonly key: string;
  readonly mod?: boolean;
  readonly title: string;
  /** Section of the help: the part of the page where it works. */
  readonly where: string;
  /** Whether it has an effect now. Default: always. */
  readonly when?: () => boolean;
  /** Whether it repeats while the key is held down. */
  readonly repeats?: boolean;
  readonly run: () => void;
};

/** Keys handled by individual elements; listed only for the help. */
export const otherKeys = [
  { keys: '↑ ↓ PgUp PgDn', title: 'Move in a list', where: 'Everywhere' },
  { keys: 'Enter', title: 'Open the focused item', where: 'Everywhere' },
  { keys: 'Escape', title: 'Close', where: 'Everywhere' },
  { keys: '← →', title: 'Switch section', where: 'Panel' },
  { keys: 'Ctrl Enter', title: 'Send', where: 'Dialogs' },
  { keys: '+ − 0', title: 'Zoom, fit', where: 'Chart' },
  { keys: '← ↑ ↓ →', title: 'Move between states', where: 'Chart' },
] as const;

let shortcuts: readonly Shortcut[] = [];
/** All shortcuts, including those without an effect in this view. */
export const allShortcuts = (): readonly Shortcut[] => shortcuts;
export const isUseful = ({ when }: Shortcut): boolean => when?.() ?? true;

/** Starts listening. Call this before the page is drawn, so that no key is lost. */
export function startKeys(wanted: readonly Shortcut[]): void {
  shortcuts = wanted;
  addEventListener('keydown', (event) => {
    const isMod = event.ctrlKey || event.metaKey;
    if (event.defaultPrevented || event.altKey || locked.peek()) return;
    // Not `event.target`: inside a shadow root, such as the editor, that is only the host element.
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

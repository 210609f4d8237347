/** Clicks that are not meant: the second of a double-click, where the button under it may be the next item's by then. */

/** Buttons that act, on an actor or in a dialog. What is folded or sorted may be clicked as often as one likes. */
const acting = ':is(.standing, .escalation, dialog) .buttons button, .marked button';

export function startClicks(): void {
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

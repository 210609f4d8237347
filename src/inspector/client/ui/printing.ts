/** Paper has no scroll bars and no buttons: while the page is printed, lists and texts are shown completely. */
import { signal } from '@preact/signals';
import { renderNow } from '../measure.ts';

export const isPrinting = signal(false);

/** Renders within the events, because the browser prints without waiting for another frame. */
export function startPrinting(): void {
  const change = (printing: boolean) => () =>
    renderNow(() => {
      isPrinting.value = printing;
    });
  addEventListener('beforeprint', change(true));
  addEventListener('afterprint', change(false));
}

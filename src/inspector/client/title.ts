/** How many wait for a person, in the title of the tab and on its icon, to be seen from another tab. */
import { effect } from '@preact/signals';
import { inboxSize } from './inbox/waiting.ts';

const shownMax = 99;

export function startTitle(): void {
  effect(() => {
    const count = inboxSize.value;
    document.title = count === 0 ? 'stopgate inspector' : `(${count}) stopgate inspector`;
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    // Drawn by the service: the page's policy allows no images made here.
    if (icon !== null) icon.href = count === 0 ? '/favicon.ico' : `/icon/${Math.min(count, shownMax)}.svg`;
  });
}

/** Ages and what is left of a time: they stand still, and are dimmed, while the page does not hear of the present. */
import type { ComponentChildren } from 'preact';
import { shownMs } from '../data/past.ts';
import { ago, duration } from './format.ts';

const Age = ({ children }: { children: ComponentChildren }) => <span class="age">{children}</span>;

/** Components of their own, so that the clock renders only these texts every second, and not what is around them. */
export const Ago = ({ thenMs }: { thenMs: number }) => <Age>{ago(thenMs, shownMs.value)}</Age>;

export const For = ({ sinceMs }: { sinceMs: number }) => <Age>{duration(Math.max(0, shownMs.value - sinceMs))}</Age>;

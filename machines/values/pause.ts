/** A person's pause: while it is in effect, the worker's stops are not judged (protocol.md §3 and §5). */
import { formatIsoTime } from './time.ts';

/** `untilMs` is null if the pause lasts until the session ends. */
export type Pause = { readonly by: string; readonly sinceMs: number; readonly untilMs: number | null };

/** The pause as views show it. */
export type PauseView = { readonly by: string; readonly since: string; readonly until: string | null };

/** Returns the pause if it is in effect at `nowMs`, or null. It is over at exactly `untilMs`. */
export const pauseAt = (pause: Pause | null, nowMs: number): Pause | null =>
  pause !== null && (pause.untilMs === null || nowMs < pause.untilMs) ? pause : null;

export const describePause = ({ by, until }: Pick<PauseView, 'by' | 'until'>): string =>
  until === null ? `paused by ${by}` : `paused by ${by} until ${until}`;

export const viewPause = ({ by, sinceMs, untilMs }: Pause): PauseView => ({
  by,
  since: formatIsoTime(sinceMs),
  until: untilMs === null ? null : formatIsoTime(untilMs),
});

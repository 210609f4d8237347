/** Counts the unreadable fields of agents' calls and telemetry, and logs each kind once. */
import type { Logger } from '../log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** `from` is an agent or `otlp`. `field` is one of our names, never a text of the sender, so there are only a few. */
export type NoteUnread = (from: string, field: string) => void;

export function createUnreadNotes({
  metrics,
  log,
}: {
  readonly metrics: Pick<Metrics, 'unread'>;
  readonly log: Pick<Logger, 'warn'>;
}): NoteUnread {
  const logged = new Set<string>();
  return (from, field) => {
    metrics.unread.inc({ from, field });
    const kind = `${from} ${field}`;
    if (logged.has(kind)) return;
    logged.add(kind);
    log.warn({ from, field }, 'a field of a call could not be read and was ignored; the sender may be a newer version');
  };
}

/** Notes fields of agents' calls and telemetry that could not be read: each is counted, and each kind is logged once. */
import type { Logger } from '../log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** `from`: an agent, or `otlp`. `field`: a name of ours, never a text of the sender's, so their number is bounded. */
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
    log.warn({ from, field }, 'a field of a call could not be read and was left out; it may be of a newer version');
  };
}

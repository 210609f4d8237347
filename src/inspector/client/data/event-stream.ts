/** An EventSource that reopens when the browser gives up, and reports why. */
import { basePath } from './base-path.ts';

export const streamEvents = ['hello', 'full', 'delta', 'worker', 'task'] as const;
export type StreamEvent = (typeof streamEvents)[number];

type Listener = {
  onMessage(event: StreamEvent, text: string, id: string): void;
  /** @param problem the reason, or null while the browser itself retries */
  onLost(problem: string | null): void;
  /** A token is required. There is no retry. */
  onLocked(): void;
};

export const noResponse = 'The service does not respond.';
const retryMs = 1_500;
/** The service sends a message every second, so a connection that is silent for this long is dead. */
const silenceMs = 10_000;

export function createEventStream({ onMessage, onLost, onLocked }: Listener) {
  let source: EventSource | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let heardMs = 0;
  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
  };
  const open = (url: string) => {
    close();
    const opened = new EventSource(url);
    source = opened;
    heardMs = Date.now();
    for (const event of streamEvents)
      opened.addEventListener(event, ({ data, lastEventId }: MessageEvent<string>) => {
        heardMs = Date.now();
        onMessage(event, data, lastEventId);
      });
    opened.addEventListener('locked', () => {
      if (opened !== source) return;
      close();
      onLocked();
    });
    opened.onerror = () => {
      onLost(null);
      // The browser retries, unless the response was not a stream.
      if (opened.readyState === EventSource.CLOSED && opened === source)
        retry = setTimeout(() => void askAgain(opened), retryMs);
    };
  };
  const askAgain = async (opened: EventSource) => {
    const { status, problem } = await askReadiness(opened.url);
    if (source !== opened) return;
    if (status === 401) return onLocked();
    onLost(problem);
    // A service that responds but is not ready may still serve the stream.
    if (status !== 0) open(opened.url);
    else retry = setTimeout(() => void askAgain(opened), retryMs);
  };
  return {
    open,
    close,
    isOpen: () => source !== null && source.readyState !== EventSource.CLOSED,
    isDead: () => source?.readyState === EventSource.OPEN && Date.now() - heardMs > silenceMs,
  };
}

/** Asks the service why it does not serve this stream's fleet. Status 0 means no response. */
async function askReadiness(streamUrl: string): Promise<{ status: number; problem: string }> {
  const fleet = /\/api\/([^/]+)\/stream$/.exec(new URL(streamUrl).pathname)?.[1] ?? '';
  const reply = await fetch(`${basePath()}readyz?fleet=${fleet}`, { headers: { accept: 'application/json' } }).catch(
    () => null,
  );
  if (reply === null) return { status: 0, problem: noResponse };
  const body = (await reply.json().catch(() => null)) as { error?: { message?: string } } | null;
  const unexplained = reply.ok ? 'its event stream was refused' : `the service replied with status ${reply.status}`;
  return { status: reply.status, problem: body?.error?.message ?? unexplained };
}

/**
 * The receiving half of `createBrowserInspector({ url })`: an XState app opens this page, or frames it, and posts what
 * its actors do. Only the window that did so is heard, and only while it shows the site that spoke first.
 */

/** As `@statelyai/inspect` 0.7.2 sends them; another version may leave out what it likes. */
export type Frame = {
  readonly type: string;
  readonly _version: string;
  readonly sessionId: string;
  readonly createdAt?: unknown;
  readonly parentId?: unknown;
  readonly sourceId?: unknown;
  readonly name?: unknown;
  readonly definition?: unknown;
  readonly snapshot?: unknown;
  readonly event?: unknown;
};

/** @param onFrame told of each frame, and of the site it comes from. @returns false: nobody opened this page */
export function receive(here: Window, onFrame: (frame: Frame, origin: string) => void): boolean {
  const app: Window | null = here.self === here.top ? here.opener : here.parent;
  if (app === null) return false;
  let site: string | null = null;
  here.addEventListener('message', ({ source, origin, data }: MessageEvent) => {
    if (source !== app || (site !== null && origin !== site) || !isFrame(data)) return;
    site = origin;
    onFrame(data, origin);
  });
  // Says only that somebody listens, so any site may hear it: which one opened us is not told to us.
  app.postMessage({ type: '@statelyai.connected' }, '*');
  return true;
}

function isFrame(data: unknown): data is Frame {
  if (typeof data !== 'object' || data === null) return false;
  const { type, _version, sessionId } = data as Record<string, unknown>;
  return typeof type === 'string' && typeof _version === 'string' && typeof sessionId === 'string';
}

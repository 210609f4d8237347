/**
 * The receiving side of `createBrowserInspector({ url })`: an XState app opens this page, or frames it, and posts what
 * its actors do. Only messages of that window are accepted, and only from the origin of the first one.
 */

/** As `@statelyai/inspect` 0.7.2 sends them; other versions may lack any of the optional fields. */
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

/** @param onFrame gets each frame with its origin. @returns false: no app opened this page */
export function receive(here: Window, onFrame: (frame: Frame, origin: string) => void): boolean {
  const app: Window | null = here.self === here.top ? here.opener : here.parent;
  if (app === null) return false;
  let accepted: string | null = null;
  here.addEventListener('message', ({ source, origin, data }: MessageEvent) => {
    if (source !== app || (accepted !== null && origin !== accepted) || !isFrame(data)) return;
    accepted = origin;
    onFrame(data, origin);
  });
  // Any origin may get this, since it reveals only that somebody listens; we cannot know which origin opened us.
  app.postMessage({ type: '@statelyai.connected' }, '*');
  return true;
}

function isFrame(data: unknown): data is Frame {
  if (typeof data !== 'object' || data === null) return false;
  const { type, _version, sessionId } = data as Record<string, unknown>;
  return typeof type === 'string' && typeof _version === 'string' && typeof sessionId === 'string';
}

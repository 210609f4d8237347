/** Joins the stream that the pages of this browser share. */
import { createHub, type FromHub, type ToHub } from './hub.ts';

export type HubPort = { send(message: ToHub): void };

export function openHub(fleet: string, onMessage: (message: FromHub) => void): HubPort {
  if (typeof SharedWorker === 'undefined') return openAlone(fleet, onMessage);
  const { port } = new SharedWorker(new URL('./shared-stream.ts', import.meta.url), { type: 'module', name: fleet });
  port.onmessage = ({ data }: MessageEvent<FromHub>) => onMessage(data);
  return { send: (message) => port.postMessage(message) };
}

/** Where the browser has no SharedWorker each page has a stream of its own. */
function openAlone(fleet: string, onMessage: (message: FromHub) => void): HubPort {
  const hub = createHub(fleet);
  const port = { postMessage: onMessage };
  return { send: (message) => hub.onMessage(port, message) };
}

/** The SharedWorker of a fleet's pages. Its name is the fleet's name. */
import { createHub, type ToHub } from './hub.ts';

declare const self: { readonly name: string; onconnect: (event: MessageEvent) => void };

const hub = createHub(self.name);
self.onconnect = ({ ports: [port] }) => {
  if (port === undefined) return;
  port.onmessage = ({ data }: MessageEvent<ToHub>) => hub.onMessage(port, data);
};

/** A webhook receiver that records requests and replies as a test wants. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { openLoopbackServer } from './loopback-server.ts';

export type Received = {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Record<string, unknown>;
};
export type Receiver = {
  readonly url: string;
  readonly received: Received[];
  /** Sets the reply: a status, or a custom handler. */
  answer(how: number | ((response: ServerResponse, count: number) => void)): void;
  close(): Promise<void>;
};

export async function openReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let how: number | ((response: ServerResponse, count: number) => void) = 200;
  const { origin, close } = await openLoopbackServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      received.push({ headers: request.headers, text, body: JSON.parse(text) as Record<string, unknown> });
      if (typeof how === 'function') how(response, received.length);
      else response.writeHead(how).end();
    });
  });
  return {
    url: `${origin}/hook`,
    received,
    answer(next) {
      how = next;
    },
    close,
  };
}

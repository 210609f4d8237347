/** Server-Sent Events over one response. The writer never waits: it checks `isReady` and skips a slow client. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { LiveClient } from '../inspector/live/page.ts';
import { commonHeaders } from './replies.ts';

export type EventStream = LiveClient & { onClose(close: () => void): void; end(): void };

/** No keep-alive comments are needed against proxies: the stream has a message every second. */
export function openEventStream(reply: FastifyReply): EventStream {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    ...commonHeaders,
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
    connection: 'keep-alive',
  });
  raw.write('retry: 1000\n\n');
  return {
    send: (event, data, seq) => write(raw, `${seq === null ? '' : `id: ${seq}\n`}event: ${event}\ndata: ${data}\n\n`),
    isReady: () => !raw.writableNeedDrain,
    onClose: (close) => void raw.once('close', close),
    end: () => void raw.end(),
  };
}

function write(raw: ServerResponse, text: string): void {
  if (!raw.destroyed && !raw.writableEnded) raw.write(text);
}

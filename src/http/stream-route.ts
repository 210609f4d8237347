/** `/api/<fleet>/stream`: the fleet as it changes, and the entries of the selected actors, as Server-Sent Events. */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { idSchema, staleAfterMs } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { LiveClient } from '../inspector/live/page.ts';
import type { Topic } from '../inspector/messages.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { accessOf, callerOf, fleetInPath, hasRole } from './access.ts';
import { type HttpAdmission, hasSession, onceRevoked } from './admission.ts';
import { commonHeaders } from './replies.ts';
import { contentOf, type SchemaTypes, seqSchema } from './route-schemas.ts';

/** Maximum number of open pages. */
const streamsMax = 200;
/**
 * A stream follows several actors, since browser tabs share one. More would not fit into a request's head of 16 KiB.
 */
const topicsMax = 64;
const idsSchema = z
  .union([idSchema.transform((id) => [id]), z.array(idSchema).max(topicsMax, `names more than ${topicsMax}`)])
  .default([]);
const streamSchema = z.object({ worker: idsSchema, task: idsSchema, after: seqSchema.optional() });

const topicOf = (entity: Topic['entity'], id: string): Topic => ({ entity, id });

export type StreamOptions = {
  readonly admission: HttpAdmission;
  readonly version: string;
  readonly bounds: Metrics['bounds'];
};

export function addStreamRoute(api: FastifyInstance, { admission, version, bounds }: StreamOptions): void {
  const streams = new Set<EventStream>();
  bounds.add('pages', streamsMax, () => streams.size);
  // A graceful close waits for open requests, and streams never end otherwise.
  api.addHook('preClose', async () => {
    for (const stream of streams) stream.end();
  });
  const route = {
    config: { access: { role: 'read', workers: 'none', fleets: 'own' } },
    schema: {
      tags: ['reads'],
      summary: 'Server-Sent Events: the fleet as it changes, and the entries of the selected actors',
      querystring: streamSchema,
      response: { 200: contentOf('text/event-stream') },
    },
  } as const;
  api.withTypeProvider<SchemaTypes>().get('/stream', route, async (request, reply) => {
    const { params, query, headers } = request;
    const { service, inspection } = fleetInPath(request);
    // A page that selects another actor opens a new stream, with `after` as the last entry that it has received.
    const { worker, task, after = null } = query;
    const topics = [worker.map((id) => topicOf('worker', id)), task.map((id) => topicOf('task', id))].flat();
    const lastId = seqSchema.safeParse(headers['last-event-id'] || undefined);
    if (streams.size >= streamsMax)
      throw new AppError('service.busy', `${streamsMax} pages are open, the maximum of this replica`);
    const stream = openEventStream(reply);
    streams.add(stream);
    const { fleet, replica } = service;
    const rights = {
      session: hasSession(headers),
      operator: hasRole(callerOf(request), 'operator'),
      token: admission.tokens().some(({ role }) => role === 'operator'),
    };
    stream.send('hello', JSON.stringify({ fleet, replica, version, staleAfterMs, ...rights }), null);
    const leave = inspection.live.join(stream, topics, lastId.success ? lastId.data : after);
    const endChecks = onceRevoked(headers, params, accessOf(request), admission, () => {
      stream.send('locked', 'null', null);
      stream.end();
    });
    stream.onClose(() => {
      endChecks();
      streams.delete(stream);
      leave();
    });
  });
}

type EventStream = LiveClient & { onClose(close: () => void): void; end(): void };

/** Server-Sent Events over one response. It has a message every second, so proxies need no keep-alive comments. */
function openEventStream(reply: FastifyReply): EventStream {
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

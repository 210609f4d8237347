/** The endpoints of the inspector's page: the stream, the past, timelines, what if, and operator actions. */

import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { idSchema, isoTimeSchema, staleAfterMs } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { LiveClient } from '../inspector/live/page.ts';
import { type Topic, toTruncatedJson } from '../inspector/messages.ts';
import { rangeMsMax, spanNames } from '../inspector/statistics/spans.ts';
import { type OperatorAction, operatorActions } from '../service/operate.ts';
import { parseInput } from '../service/parse-input.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { accessOf, callerOf, checkFleet, checkSubject, fleetInPath, hasRole, withCallerName } from './access.ts';
import { type Admission, findCaller, hasSession, onceRevoked, refuseAnyone, sessionCookie } from './admission.ts';
import { sendHistory, type Work } from './history-reply.ts';
import { commonHeaders } from './replies.ts';

export const inspectorEndpoints = [
  'GET  /api/<fleet>/stream',
  'GET  /api/<fleet>/range',
  'GET  /api/<fleet>/at/<seq>',
  'GET  /api/<fleet>/outline',
  'GET  /api/<fleet>/timeline/<entity>/<id>',
  'GET  /api/<fleet>/attempts/<worker>',
  'GET  /api/<fleet>/entry/<seq>',
  'GET  /api/<fleet>/entries',
  'GET  /api/<fleet>/moment',
  'GET  /api/<fleet>/history/<worker>.jsonl',
  'GET  /api/<fleet>/policy',
  'GET  /api/<fleet>/service',
  'GET  /api/<fleet>/statistics',
  'POST /api/<fleet>/what-if',
  'POST /api/<fleet>/session, DELETE /api/<fleet>/session',
  'POST /api/<fleet>/operator/<acknowledge|resolve|answer|retire>',
] as const;

export type InspectorRoutes = {
  readonly admission: Admission;
  readonly version: string;
  readonly bounds: Metrics['bounds'];
};

/** This many pages may be open at once. */
const streamsMax = 200;

const seqSchema = z
  .string()
  .regex(/^\d{1,15}$/, 'must be the sequence number of an entry: a whole number of at least 0')
  .transform(Number);
export const selectionSchema = z
  .object({ worker: idSchema.optional(), task: idSchema.optional(), after: seqSchema.optional() })
  .refine((it) => it.worker === undefined || it.task === undefined, 'name a worker or a task, not both');
/** Pages share a stream, so it follows several actors. More would not fit a request's head of 16 KiB. */
const topicsMax = 64;
const idsSchema = z
  .union([idSchema.transform((id) => [id]), z.array(idSchema).max(topicsMax, `names more than ${topicsMax}`)])
  .default([]);
export const streamSchema = z.object({ worker: idsSchema, task: idsSchema, after: seqSchema.optional() });
export const pageSchema = z.object({
  before: seqSchema.optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
});
const msSchema = z
  .string()
  .regex(/^\d{1,15}$/, 'must be milliseconds since 1970')
  .transform(Number);
const wordSchema = z.string().min(1).max(200).optional();
/**
 * `outcome`: of a check, or what became of a stop; several with commas. `guard`: the one that blocked. `text` is searched
 * for in subjects and payloads; `from` and `to`: when they were stored, in milliseconds since 1970.
 */
export const entriesSchema = pageSchema.extend({
  type: wordSchema,
  worker: idSchema.optional(),
  task: idSchema.optional(),
  check: wordSchema,
  text: wordSchema,
  outcome: wordSchema,
  guard: wordSchema,
  from: msSchema.optional(),
  to: msSchema.optional(),
});
export const momentSchema = z.object({ ms: msSchema });
export const attemptsSchema = pageSchema.extend({ limit: z.coerce.number().int().min(1).max(20).default(6) });
export const whatIfSchema = z.object({
  policy: z.string().max(1_000_000),
  last: z.number().int().min(1).max(10_000).default(200),
  since: isoTimeSchema.optional(),
});
/** The number of buckets that a reply may have. */
const bucketsMax = 8_192;
export const outlineSchema = z
  .object({
    from: seqSchema.default(1),
    to: seqSchema,
    width: z.coerce
      .number()
      .int()
      .min(1)
      .max(2 ** 40),
  })
  .refine(({ width }) => Number.isInteger(Math.log2(width)), 'width must be a power of two')
  .refine(
    ({ from, to, width }) => (to - from) / width < bucketsMax,
    `asks for more than ${bucketsMax} buckets; take a greater width`,
  );
/** With `from` and `to`, in milliseconds since 1970: what is between them, without `to`, in place of a span that ends now. */
export const statisticsSchema = z
  .object({ span: z.enum(spanNames).default('hour'), from: msSchema.optional(), to: msSchema.optional() })
  .refine(({ from, to }) => (from === undefined) === (to === undefined), 'give both from and to, or neither')
  .refine(({ from = 0, to = 1 }) => from < to, 'from must be before to')
  .refine(({ from = 0, to = 1 }) => to - from <= rangeMsMax, 'from and to may be 31 days apart at most');
export const tokenSchema = z.object({ token: z.string().trim().min(1).max(1_000) });
const timelineSchema = z.object({ entity: z.enum(['worker', 'task']), id: idSchema });

/** @param api under `/api/:fleet`, its fleet checked */
export function addInspectorRoutes(api: FastifyInstance, routes: InspectorRoutes): void {
  addStream(api, routes);
  addPast(api);
  addService(api, routes);
  addTimelines(api);
  addOperatorActions(api);
  addSession(api, routes);
}

const topicOf = (entity: Topic['entity'], id: string): Topic => ({ entity, id });
const readTopic = ({ worker, task }: z.output<typeof selectionSchema>): Topic | null =>
  worker !== undefined ? { entity: 'worker', id: worker } : task !== undefined ? { entity: 'task', id: task } : null;

function addStream(api: FastifyInstance, { admission, version, bounds }: InspectorRoutes): void {
  const streams = new Set<EventStream>();
  bounds.add('pages', streamsMax, () => streams.size);
  // A graceful close waits for open requests, and a stream would never end.
  api.addHook('preClose', async () => {
    for (const stream of streams) stream.end();
  });
  api.get('/stream', async (request, reply) => {
    const { params, query, headers, method, routeOptions } = request;
    const { service, inspection } = fleetInPath(request);
    // Who selects another actor opens a new stream; `after` is then the last entry received.
    const { worker, task, after = null } = parseInput(streamSchema, query);
    const topics = [worker.map((id) => topicOf('worker', id)), task.map((id) => topicOf('task', id))].flat();
    const lastId = seqSchema.safeParse(headers['last-event-id'] || undefined);
    if (streams.size >= streamsMax)
      throw new AppError('service.busy', `${streamsMax} pages are open, the most that this replica serves`);
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
    const settle = onceRevoked(headers, params, accessOf(method, routeOptions.url), admission, () => {
      stream.send('locked', 'null', null);
      stream.end();
    });
    stream.onClose(() => {
      settle();
      streams.delete(stream);
      leave();
    });
  });
}

/**
 * Adds the routes that the history process answers: the past, statistics, and what other policies would have decided.
 */
function addPast(api: FastifyInstance): void {
  api.get('/range', async (request) => fleetInPath(request).inspection.range());
  const send = (request: FastifyRequest, reply: FastifyReply, work: Work) =>
    sendHistory(request, reply, fleetInPath(request).inspection.history, work);
  api.get<{ Params: { seq: string } }>('/at/:seq', async (request, reply) => {
    const topic = readTopic(parseInput(selectionSchema, request.query));
    return send(request, reply, { kind: 'past', seq: parseInput(seqSchema, request.params.seq), topic });
  });
  api.get('/outline', async (request, reply) => {
    const { from: fromSeq, to: toSeq, width } = parseInput(outlineSchema, request.query);
    return send(request, reply, { kind: 'outline', fromSeq, toSeq, width });
  });
  // Counted from the log: of the last hour, day or week, or of a range.
  api.get('/statistics', async (request, reply) => {
    const { span, from: fromMs, to: toMs } = parseInput(statisticsSchema, request.query);
    return send(request, reply, {
      kind: 'statistics',
      span: fromMs === undefined || toMs === undefined ? span : { fromMs, toMs },
    });
  });
  api.get('/policy', async (request) => fleetInPath(request).inspection.policies());
  api.post('/what-if', async (request, reply) => {
    const { policy, last, since: sinceMs = null } = parseInput(whatIfSchema, request.body);
    return send(request, reply, { kind: 'whatIf', policy, last, sinceMs });
  });
}

/** The service itself: what it gathers for one page serves all that ask within a second. */
function addService(api: FastifyInstance, { version, bounds }: InspectorRoutes): void {
  api.get('/service', async (request, reply) => {
    const { limits, ...report } = await fleetInPath(request).inspection.service();
    // What all fleets share says something of the others.
    const shared = callerOf(request).fleets === null ? bounds.list() : [];
    return sendTruncated(reply, { version, ...report, limits: [...limits, ...shared] });
  });
}

function addTimelines(api: FastifyInstance): void {
  api.get('/timeline/:entity/:id', async (request, reply) => {
    const { params, query } = request;
    const { entity, id } = parseInput(timelineSchema, params);
    const { before = null, limit } = parseInput(pageSchema, query);
    const { service, inspection } = fleetInPath(request);
    await service.get(entity, id);
    return sendTruncated(reply, await inspection.timeline({ entity, id }, { before, limit }));
  });
  api.get<{ Params: { worker: string } }>('/attempts/:worker', async (request, reply) => {
    const { params, query } = request;
    const worker = parseInput(idSchema, params.worker);
    const { before = null, limit } = parseInput(attemptsSchema, query);
    const { service, inspection } = fleetInPath(request);
    await service.get('worker', worker);
    return sendTruncated(reply, { attempts: await inspection.attempts(worker, { before, limit }) });
  });
  api.get<{ Params: { seq: string } }>('/entry/:seq', async (request) => {
    const seq = parseInput(seqSchema, request.params.seq);
    const entry = await fleetInPath(request).inspection.entry(seq);
    if (entry === null) throw new AppError('actor.unknown', `there is no entry ${seq} about a worker or task`);
    return entry;
  });
  api.get('/entries', async (request, reply) => {
    const { before = null, limit, from = null, to = null, ...filter } = parseInput(entriesSchema, request.query);
    const { type = null, worker = null, task = null, check = null, text = null, outcome = null, guard = null } = filter;
    const wanted = { type, worker, task, check, outcome, guard, text, fromMs: from, toMs: to };
    return sendTruncated(reply, await fleetInPath(request).inspection.entries(wanted, { before, limit }));
  });
  api.get('/moment', async (request) => {
    const { ms } = parseInput(momentSchema, request.query);
    return { seq: await fleetInPath(request).inspection.seqAt(ms) };
  });
  api.get<{ Params: { file: string } }>('/history/:file', async (request, reply) => {
    const worker = parseInput(idSchema, request.params.file.replace(/\.jsonl$/, ''));
    const { service, inspection } = fleetInPath(request);
    await service.get('worker', worker);
    const lines = await inspection.replayLines(worker);
    return reply
      .type('application/jsonl; charset=utf-8')
      .header('content-disposition', `attachment; filename="${worker}.jsonl"`)
      .send(`${lines.join('\n')}\n`);
  });
}

function addOperatorActions(api: FastifyInstance): void {
  api.post<{ Params: { word: string } }>('/operator/:word', async (request) => {
    const { params, body } = request;
    const caller = callerOf(request);
    checkSubject(caller, body);
    if (!Object.hasOwn(operatorActions, params.word))
      throw new AppError('actor.unknown', `'${params.word}' is none of ${Object.keys(operatorActions).join(', ')}`);
    return fleetInPath(request).service.operate(params.word as OperatorAction, withCallerName(caller, body));
  });
}

/** A session for reading, or for operator actions, depending on the token. */
function addSession(api: FastifyInstance, { admission }: InspectorRoutes): void {
  api.post<{ Params: { fleet: string } }>('/session', async ({ params, body, headers }, reply) => {
    const { token } = parseInput(tokenSchema, body);
    const given = { authorization: `Bearer ${token}` };
    const caller = findCaller(given, admission);
    refuseAnyone(caller, given, admission);
    checkFleet(caller, params.fleet);
    return reply
      .code(204)
      .header('set-cookie', sessionCookie(headers, token, admission))
      .send();
  });
  api.delete('/session', async ({ headers }, reply) =>
    reply
      .code(204)
      .header('set-cookie', sessionCookie(headers, null, admission))
      .send(),
  );
}

const sendTruncated = (reply: FastifyReply, value: object): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(toTruncatedJson(value));

// Server-Sent Events over one response. The writer never waits: it checks `isReady` and skips a slow client.

type EventStream = LiveClient & { onClose(close: () => void): void; end(): void };

/** No keep-alive comments are needed against proxies: the stream has a message every second. */
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

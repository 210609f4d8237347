/** The reads of the inspector's page: the past, timelines, entries, the state of the service, and what-if replays. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { idSchema, isoTimeSchema, type TaskView, type WorkerView } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { type Topic, toTruncatedJson } from '../inspector/messages.ts';
import { findDecision } from '../inspector/receipts/find-decision.ts';
import { rulesSinceMs } from '../inspector/rules/rules-report.ts';
import { rangeMsMax, spanNames } from '../inspector/statistics/spans.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type Access, callerOf, checkWorker, fleetInPath } from './access.ts';
import { sendHistory, type Work } from './history-reply.ts';
import { anyObject, contentOf, errorSchema, type SchemaTypes, seqSchema } from './route-schemas.ts';

/** For routes that show all workers. */
const fleetAccess: Access = { role: 'read', workers: 'none', fleets: 'own' };
const workerAccess: Access = { role: 'read', workers: 'own', fleets: 'own' };

const selectionSchema = z
  .object({ worker: idSchema.optional(), task: idSchema.optional(), after: seqSchema.optional() })
  .refine(({ worker, task }) => worker === undefined || task === undefined, 'name a worker or a task, not both');
const pageSchema = z.object({
  before: seqSchema.optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
});
const msSchema = z
  .string()
  .regex(/^\d{1,15}$/, 'must be milliseconds since 1970')
  .transform(Number);
const wordSchema = z.string().min(1).max(200).optional();
/**
 * `outcome` has outcomes of checks or stops, separated by commas. `guard` is the guard that blocked. `text` is searched
 * for in subjects and payloads. `from` and `to` limit the storage time, in milliseconds since 1970.
 */
const entriesSchema = pageSchema.extend({
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
const momentSchema = z.object({ ms: msSchema });
const attemptsSchema = pageSchema.extend({ limit: z.coerce.number().int().min(1).max(20).default(6) });
const whatIfSchema = z.object({
  policy: z.string().max(1_000_000),
  last: z.number().int().min(1).max(10_000).default(200),
  since: isoTimeSchema.optional(),
});
/** Maximum number of buckets in a reply. */
const bucketsMax = 8_192;
const outlineSchema = z
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
    `asks for more than ${bucketsMax} buckets; use a greater width`,
  );
/** A span that ends now, or the time from `from` up to but excluding `to`, in milliseconds since 1970. */
const statisticsSchema = z
  .object({ span: z.enum(spanNames).default('hour'), from: msSchema.optional(), to: msSchema.optional() })
  .refine(({ from, to }) => (from === undefined) === (to === undefined), 'give both from and to, or neither')
  .refine(({ from = 0, to = 1 }) => from < to, 'from must be before to')
  .refine(({ from = 0, to = 1 }) => to - from <= rangeMsMax, 'from and to may be at most 31 days apart');
const seqPath = z.looseObject({ seq: seqSchema });
const rulesSchema = z.object({ from: msSchema.optional().describe('default: 30 days ago') });
const receiptSchema = z.object({ attempt: idSchema.optional().describe('of a worker; default: its last') });
const workerPath = z.looseObject({ worker: idSchema });
const timelinePath = z.looseObject({ entity: z.enum(['worker', 'task']), id: idSchema });
const fileOf = (extension: string) =>
  z.looseObject({
    file: z
      .string()
      .describe(`<worker>.${extension}`)
      .transform((file) => file.replace(new RegExp(`\\.${extension}$`), ''))
      .pipe(idSchema),
  });

export type InspectorRoutes = { readonly version: string; readonly bounds: Metrics['bounds'] };

/** @param api routes under `/api/:fleet`, whose fleet is checked and whose input is validated by schemas */
export function addInspectorRoutes(api: FastifyInstance, routes: InspectorRoutes): void {
  addPast(api);
  addService(api, routes);
  addTimelines(api);
  addEntries(api);
  addFiles(api);
}

const readTopic = ({ worker, task }: z.output<typeof selectionSchema>): Topic | null =>
  worker !== undefined ? { entity: 'worker', id: worker } : task !== undefined ? { entity: 'task', id: task } : null;

const history = contentOf('application/json', 'application/x-ndjson');

/** Adds the routes that the history process answers. */
function addPast(api: FastifyInstance): void {
  const typed = api.withTypeProvider<SchemaTypes>();
  const send = (request: FastifyRequest, reply: FastifyReply, work: Work) =>
    sendHistory(request, reply, fleetInPath(request).inspection.history, work);
  typed.get(
    '/range',
    {
      config: { access: fleetAccess },
      schema: { tags: ['reads'], summary: 'The first and last entry of the log', response: { 200: anyObject } },
    },
    async (request) => fleetInPath(request).inspection.range(),
  );
  typed.get(
    '/at/:seq',
    {
      config: { access: fleetAccess },
      schema: {
        tags: ['reads'],
        summary: 'The fleet as it was after an entry',
        params: seqPath,
        querystring: selectionSchema,
        response: { 200: history },
      },
    },
    async (request, reply) =>
      send(request, reply, { kind: 'past', seq: request.params.seq, topic: readTopic(request.query) }),
  );
  typed.get(
    '/outline',
    {
      config: { access: fleetAccess },
      schema: {
        tags: ['reads'],
        summary: 'Counts of entries in equal parts of the log',
        querystring: outlineSchema,
        response: { 200: history },
      },
    },
    async (request, reply) => {
      const { from: fromSeq, to: toSeq, width } = request.query;
      return send(request, reply, { kind: 'outline', fromSeq, toSeq, width });
    },
  );
  typed.get(
    '/statistics',
    {
      config: { access: fleetAccess },
      schema: {
        tags: ['reads'],
        summary: 'Statistics of the last hour, day or week, or of a range, counted from the log',
        querystring: statisticsSchema,
        response: { 200: history },
      },
    },
    async (request, reply) => {
      const { span, from: fromMs, to: toMs } = request.query;
      return send(request, reply, {
        kind: 'statistics',
        span: fromMs === undefined || toMs === undefined ? span : { fromMs, toMs },
      });
    },
  );
  typed.get(
    '/rules',
    {
      config: { access: fleetAccess },
      schema: {
        tags: ['reads'],
        summary: 'How each check of the policies has done, and which deserve a look',
        querystring: rulesSchema,
        response: { 200: history },
      },
    },
    async (request, reply) =>
      send(request, reply, { kind: 'rules', sinceMs: request.query.from ?? Date.now() - rulesSinceMs }),
  );
  typed.get(
    '/receipt/:entity/:id',
    {
      config: { access: workerAccess },
      schema: {
        tags: ['reads'],
        summary: 'An in-toto statement that the work was judged complete; unsigned',
        params: timelinePath,
        querystring: receiptSchema,
        response: { 200: history, 404: errorSchema, 409: errorSchema },
      },
    },
    async (request, reply) => {
      const { entity, id } = request.params;
      const { attempt = null } = request.query;
      const { service, inspection } = fleetInPath(request);
      const {
        worker,
        attempt: judged,
        seq,
      } = await findDecision(
        {
          worker: (name) => service.get('worker', name) as Promise<WorkerView>,
          task: (name) => service.get('task', name) as Promise<TaskView>,
          decisions: inspection.decisions,
        },
        { entity, id, attempt },
      );
      checkWorker(callerOf(request), worker);
      return send(request, reply, {
        kind: 'receipt',
        judged: { worker, attempt: judged ?? '', seq: seq ?? 0 },
      });
    },
  );
  typed.post(
    '/what-if',
    {
      config: { access: fleetAccess },
      schema: {
        tags: ['reads'],
        summary: 'What another policy would have decided',
        body: whatIfSchema,
        response: { 200: history },
      },
    },
    async (request, reply) => {
      const { policy, last, since: sinceMs = null } = request.body;
      return send(request, reply, { kind: 'whatIf', policy, last, sinceMs });
    },
  );
}

function addService(api: FastifyInstance, { version, bounds }: InspectorRoutes): void {
  api.get(
    '/policy',
    {
      config: { access: fleetAccess },
      schema: { tags: ['reads'], summary: 'The policies in force', response: { 200: anyObject } },
    },
    async (request) => fleetInPath(request).inspection.policies(),
  );
  // The report is cached for a second, so any number of pages costs no more than one.
  api.get(
    '/service',
    {
      config: { access: fleetAccess },
      schema: {
        tags: ['reads'],
        summary: 'The service itself: replicas, NATS, log, runners, dead entries, policies, limits',
        response: { 200: anyObject },
      },
    },
    async (request, reply) => {
      const { limits, ...report } = await fleetInPath(request).inspection.service();
      // Bounds shared by all fleets would reveal something about fleets that the caller may not see.
      const shared = callerOf(request).fleets === null ? bounds.list() : [];
      return sendTruncated(reply, { version, ...report, limits: [...limits, ...shared] });
    },
  );
}

function addTimelines(api: FastifyInstance): void {
  const typed = api.withTypeProvider<SchemaTypes>();
  typed.get(
    '/timeline/:entity/:id',
    {
      config: { access: workerAccess },
      schema: {
        tags: ['reads'],
        summary: 'The entries about a worker or task, the latest first',
        params: timelinePath,
        querystring: pageSchema,
        response: { 200: anyObject, 404: errorSchema },
      },
    },
    async (request, reply) => {
      const { entity, id } = request.params;
      const { before = null, limit } = request.query;
      const { service, inspection } = fleetInPath(request);
      await service.get(entity, id);
      return sendTruncated(reply, await inspection.timeline({ entity, id }, { before, limit }));
    },
  );
  typed.get(
    '/attempts/:worker',
    {
      config: { access: workerAccess },
      schema: {
        tags: ['reads'],
        summary: 'The attempts of a worker with their decisions',
        params: workerPath,
        querystring: attemptsSchema,
        response: { 200: anyObject, 404: errorSchema },
      },
    },
    async (request, reply) => {
      const { worker } = request.params;
      const { before = null, limit } = request.query;
      const { service, inspection } = fleetInPath(request);
      await service.get('worker', worker);
      return sendTruncated(reply, { attempts: await inspection.attempts(worker, { before, limit }) });
    },
  );
}

function addEntries(api: FastifyInstance): void {
  const typed = api.withTypeProvider<SchemaTypes>();
  typed.get(
    '/entry/:seq',
    {
      config: { access: fleetAccess },
      schema: {
        tags: ['reads'],
        summary: 'One entry',
        params: seqPath,
        response: { 200: anyObject, 404: errorSchema },
      },
    },
    async (request) => {
      const { seq } = request.params;
      const entry = await fleetInPath(request).inspection.entry(seq);
      if (entry === null) throw new AppError('actor.unknown', `there is no entry ${seq} about a worker or task`);
      return entry;
    },
  );
  typed.get(
    '/entries',
    {
      config: { access: fleetAccess },
      schema: {
        tags: ['reads'],
        summary: 'Entries of the whole log, by filters',
        querystring: entriesSchema,
        response: { 200: anyObject },
      },
    },
    async (request, reply) => {
      const { before = null, limit, from = null, to = null, ...filter } = request.query;
      const { type = null, worker = null, task = null, check = null } = filter;
      const { text = null, outcome = null, guard = null } = filter;
      const wanted = { type, worker, task, check, outcome, guard, text, fromMs: from, toMs: to };
      return sendTruncated(reply, await fleetInPath(request).inspection.entries(wanted, { before, limit }));
    },
  );
  typed.get(
    '/moment',
    {
      config: { access: fleetAccess },
      schema: {
        tags: ['reads'],
        summary: 'The last entry at a given time',
        querystring: momentSchema,
        response: { 200: anyObject },
      },
    },
    async (request) => ({ seq: await fleetInPath(request).inspection.seqAt(request.query.ms) }),
  );
}

/** Files to download. */
function addFiles(api: FastifyInstance): void {
  const typed = api.withTypeProvider<SchemaTypes>();
  typed.get(
    '/history/:file',
    {
      config: { access: workerAccess, listed: ['GET  /api/<fleet>/history/<worker>.jsonl'] },
      schema: {
        tags: ['reads'],
        summary: 'The log of a worker, for stopgate replay',
        params: fileOf('jsonl'),
        response: { 200: contentOf('application/jsonl'), 404: errorSchema },
      },
    },
    async (request, reply) => {
      const { file: worker } = request.params;
      const { service, inspection } = fleetInPath(request);
      await service.get('worker', worker);
      const lines = await inspection.replayLines(worker);
      return reply
        .type('application/jsonl; charset=utf-8')
        .header('content-disposition', `attachment; filename="${worker}.jsonl"`)
        .send(`${lines.join('\n')}\n`);
    },
  );
}

const sendTruncated = (reply: FastifyReply, value: object): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(toTruncatedJson(value));

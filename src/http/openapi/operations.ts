/** Says of each endpoint of the API what it is for, takes and returns. An endpoint without a row here does not compile. */
import { z } from 'zod';
import { idSchema } from '../../../machines/index.ts';
import { agents } from '../../agents/index.ts';
import { listNames } from '../../service/list.ts';
import { operatorActions } from '../../service/operate.ts';
import { detailSchema, entities } from '../../service/views.ts';
import type { Endpoint } from '../access.ts';
import {
  attemptsSchema,
  entriesSchema,
  momentSchema,
  outlineSchema,
  pageSchema,
  selectionSchema,
  statisticsSchema,
  streamSchema,
} from '../inspector-routes.ts';
import type { Signal } from '../otlp/usage.ts';

export type Operation = {
  readonly tag: 'requests' | 'reads' | 'operator' | 'agents' | 'service';
  readonly summary: string;
  /** The parameters in the path that are no plain ids. */
  readonly path?: Readonly<Record<string, z.ZodType>>;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  /** The name of a component; with JSON if `bodyTypes` says nothing else. Left out: it has no body. */
  readonly body?: string;
  readonly bodyTypes?: readonly string[];
  /** The name of the component that 200 returns as JSON. */
  readonly returns?: string;
  /** The content types of 200 that are not JSON of one shape. */
  readonly types?: readonly string[];
  /** The description of 204. */
  readonly empty?: string;
  /** The statuses of errors that other endpoints do not have. */
  readonly errors?: readonly (404 | 405 | 409)[];
};

/** The paths that only a browser asks for: pages and their files, and a WebSocket, which OpenAPI cannot describe. */
type PageFile = `GET /${'' | 'favicon.ico' | 'machines.json' | 'assets/:file' | 'icon/:file'}` | 'GET /inspect/ws';

const oneOf = (names: Iterable<string>) => z.enum([...names] as [string, ...string[]]);
const text = (what: string) => z.string().describe(what);
const agent = { agent: oneOf(agents.keys()) };
const entity = { entity: oneOf(entities) };
const lists = { entities: oneOf(listNames) };
const seq = { seq: z.string().regex(/^\d{1,15}$/) };
const fleet = {
  fleet: idSchema.optional().describe('needed where the service has several fleets and the token is for more than one'),
};
/** The query of a signed link, as it was sent. */
const link = z.object({
  fleet: idSchema,
  worker: idSchema,
  request: z.string(),
  seq: z.string(),
  expires: z.string(),
  by: z.string(),
  signature: z.string(),
});

/** They all take an attempt and return a decision. */
const asks = { tag: 'requests', body: 'Attempt', returns: 'Decision' } as const;
const gets = { tag: 'reads', path: entity, returns: 'View', errors: [404] } as const;
const past = (summary: string, query?: z.ZodObject): Operation => ({
  tag: 'reads',
  summary,
  types: ['application/json', 'application/x-ndjson'],
  ...(query === undefined ? {} : { query }),
});
const otlp = (signal: Signal): Operation => ({
  tag: 'agents',
  query: z.object(fleet),
  body: 'OtlpExport',
  returns: 'OtlpResult',
  bodyTypes: ['application/json', 'application/x-protobuf'],
  summary: `Takes an agent's ${signal} by OTLP/HTTP; what it used becomes usage.reported of the worker of that session`,
});
const noMcpSession = (method: string): Operation => ({
  tag: 'agents',
  errors: [405],
  summary: `Always 405: MCP has no sessions here, so there is nothing to ${method}`,
});

export const operations: Readonly<Record<Exclude<Endpoint, PageFile>, Operation>> = {
  'POST /api/:fleet/decide/:worker': { ...asks, summary: 'May this worker stop? Logged; the same attempt counts once' },
  'POST /api/:fleet/probe/:worker': { ...asks, summary: 'Would this worker be allowed to stop? Nothing is logged' },
  'POST /api/:fleet/verify/:worker': {
    ...asks,
    errors: [404, 409],
    summary: 'Is the work of this worker complete? 409 with the decision if not',
  },
  'POST /api/:fleet/verify-task/:task': {
    ...asks,
    errors: [404, 409],
    summary: 'Is this task complete, by a judgement? 409 if not',
  },
  'POST /api/:fleet/claim-next/:worker': {
    tag: 'requests',
    body: 'ClaimNext',
    returns: 'ClaimedNext',
    errors: [409],
    summary: 'Claims the first ready task of the queue for this worker',
  },
  'POST /api/:fleet/evaluate/:task': {
    tag: 'requests',
    body: 'task.iteration.validated',
    returns: 'HookResult',
    errors: [404, 409],
    summary: 'Evaluates the hooks of this task for an iteration, and logs that',
  },
  'POST /api/:fleet/publish/:entity/:id/:noun/:verb': {
    tag: 'requests',
    path: entity,
    body: 'Entry',
    returns: 'Stored',
    errors: [409],
    headers: z.object({ 'nats-msg-id': text('the same id within two minutes is stored once').optional() }),
    summary: 'Publishes an entry; noun.verb is its type, such as tool.used',
  },
  'GET /api/:fleet/get/:entity/:id': { ...gets, query: detailSchema, summary: 'One worker, task or queue' },
  'POST /api/:fleet/get/:entity/:id': { ...gets, body: 'Detail', summary: 'As GET, with the fields in the body' },
  'GET /api/:fleet/list/:entities': {
    tag: 'reads',
    path: lists,
    returns: 'Page',
    errors: [404],
    summary: 'A page of actors, or of who waits for a person',
  },
  'POST /api/:fleet/list/:entities': {
    tag: 'reads',
    path: lists,
    body: 'Filter',
    returns: 'Page',
    errors: [404],
    summary: 'As GET, with the filter in the body',
  },
  'GET /api/:fleet/stream': {
    tag: 'reads',
    query: streamSchema,
    types: ['text/event-stream'],
    summary: 'Server-Sent Events: the fleet as it changes, and the entries of the selected actors',
  },
  'GET /api/:fleet/range': { tag: 'reads', returns: 'Object', summary: 'The first and last entry of the log' },
  'GET /api/:fleet/at/:seq': { ...past('The fleet as it was after an entry', selectionSchema), path: seq },
  'GET /api/:fleet/outline': past('Counts of entries by equal parts of the log', outlineSchema),
  'GET /api/:fleet/statistics': past(
    'Figures of the last hour, day or week, or of a range, from the log',
    statisticsSchema,
  ),
  'POST /api/:fleet/what-if': { ...past('What another policy would have decided'), body: 'WhatIf' },
  'GET /api/:fleet/service': {
    tag: 'reads',
    returns: 'Object',
    summary: 'The service itself: replicas, NATS, log, runners, dead entries, policies, limits',
  },
  'GET /api/:fleet/policy': { tag: 'reads', returns: 'Object', summary: 'The policies in force' },
  'GET /api/:fleet/timeline/:entity/:id': {
    tag: 'reads',
    path: { entity: z.enum(['worker', 'task']) },
    query: pageSchema,
    returns: 'Object',
    errors: [404],
    summary: 'The entries about a worker or task, the latest first',
  },
  'GET /api/:fleet/attempts/:worker': {
    tag: 'reads',
    query: attemptsSchema,
    returns: 'Object',
    errors: [404],
    summary: 'The attempts of a worker with their decisions',
  },
  'GET /api/:fleet/entry/:seq': { tag: 'reads', path: seq, returns: 'Object', errors: [404], summary: 'One entry' },
  'GET /api/:fleet/entries': {
    tag: 'reads',
    query: entriesSchema,
    returns: 'Object',
    summary: 'Entries of the whole log, by filters',
  },
  'GET /api/:fleet/moment': {
    tag: 'reads',
    query: momentSchema,
    returns: 'Object',
    summary: 'The entry that was the last at a time',
  },
  'GET /api/:fleet/history/:file': {
    tag: 'reads',
    path: { file: text('<worker>.jsonl') },
    types: ['application/jsonl'],
    errors: [404],
    summary: 'The log of a worker, for stopgate replay',
  },
  'POST /api/:fleet/operator/:word': {
    tag: 'operator',
    path: { word: oneOf(Object.keys(operatorActions)) },
    body: 'OperatorAction',
    returns: 'Operated',
    errors: [404, 409],
    summary: 'Acknowledges, resolves, answers, retires, pauses or unpauses',
  },
  'POST /api/:fleet/session': {
    tag: 'operator',
    body: 'Token',
    empty: 'the cookie is set',
    summary: 'Signs in with a token: sets a cookie',
  },
  'DELETE /api/:fleet/session': { tag: 'operator', empty: 'the cookie is gone', summary: 'Signs out' },
  'GET /answer': {
    tag: 'operator',
    query: link,
    types: ['text/html', 'application/json'],
    errors: [404, 409],
    summary: 'What an agent asks, by a signed link',
  },
  'POST /answer': {
    tag: 'operator',
    query: link,
    body: 'Answer',
    types: ['text/html', 'application/json'],
    errors: [404, 409],
    bodyTypes: ['application/json', 'application/x-www-form-urlencoded'],
    summary: 'Answers what an agent asks, by a signed link',
  },
  'POST /hooks/:agent': {
    tag: 'agents',
    path: agent,
    body: 'Object',
    returns: 'Object',
    errors: [404],
    empty: 'nothing to tell the agent',
    query: z.object({
      event: text('the name of the event, where the body does not have it').optional(),
      policy: idSchema.optional().describe('the policy that the worker names at its registration'),
      ...fleet,
    }),
    headers: z.object({ 'idempotency-key': idSchema.optional().describe('names the call, to ask it again') }),
    summary: "A call of an agent's hook; what it takes and returns is the agent's own form",
  },
  'GET /hooks/:agent/wake': {
    tag: 'agents',
    path: agent,
    query: z.object({ worker: text('the session'), ...fleet }),
    returns: 'Wake',
    errors: [404],
    empty: 'not yet resolved: ask again',
    summary: "Waits for how a session's escalation is resolved",
  },
  'GET /hooks/:agent/place': {
    tag: 'agents',
    path: agent,
    returns: 'Object',
    errors: [404],
    query: z.object({ cwd: text("the session's folder").optional(), policy: idSchema.optional(), ...fleet }),
    summary: "Where a session would be judged: the service's user and file, and its policy",
  },
  'POST /v1/logs': otlp('logs'),
  'POST /v1/metrics': otlp('metrics'),
  'POST /v1/traces': otlp('traces'),
  'POST /mcp': {
    tag: 'agents',
    query: z.object({ worker: idSchema.optional(), ...fleet }),
    body: 'JsonRpc',
    returns: 'JsonRpc',
    summary: 'MCP over streamable HTTP; a notification is answered by 202',
  },
  'GET /mcp': noMcpSession('listen to'),
  'DELETE /mcp': noMcpSession('end'),
  'GET /healthz': { tag: 'service', returns: 'Health', summary: 'Is the process alive?' },
  'GET /readyz': {
    tag: 'service',
    query: z.object({ fleet: idSchema.optional() }),
    returns: 'Readiness',
    errors: [404],
    summary: 'Is any fleet served? With how far each has folded its log',
  },
  'GET /metrics': { tag: 'service', types: ['text/plain'], summary: 'Metrics for Prometheus' },
  'GET /api': { tag: 'service', types: ['text/plain', 'application/json'], summary: 'The list of endpoints' },
  'GET /api/openapi.json': { tag: 'service', types: ['application/json'], summary: 'This document' },
};

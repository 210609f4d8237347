/**
 * The endpoints of agents' hooks. A call becomes entries, which are stored in order, and possibly a stop to be decided.
 */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { idSchema, isId } from '../../machines/index.ts';
import { agents, createHookCallHandler, type HookCall, type OnHeld, type ReadHook, toId } from '../agents/index.ts';
import { AppError } from '../errors.ts';
import type { Service } from '../service/index.ts';
import { isUndecided } from '../service/waits.ts';
import { type Caller, callerOf, checkWorker, fleetsOf, isForWorker } from './access.ts';
import { createPerService, fleetNamed } from './fleet-directory.ts';
import { whenClosed } from './replies.ts';
import { anyObject, errorSchema, fleetInQuery, noBody, oneOf } from './route-schemas.ts';

/** A wake request is held open this long. The client must then send it again. */
const wakeHoldMs = 50_000;

/** The name of a task list is cut to this length. */
const listCharsMax = 256;

/** The question of `stopgate init` and `doctor`, with the token of the hooks, before the first session. */
export type SessionQuestion = { readonly agent: string; readonly policy: string | null; readonly cwd: string | null };
export type SessionContext = {
  readonly fleet: string;
  readonly replica: string;
  /** The user who runs the service. */
  readonly user: string;
  /** Path of the service's configuration file, which need not exist. */
  readonly file: string;
  /** Why the service cannot read the session's folder, or null. */
  readonly folderFault: string | null;
  /** True if the service sees the folder and it is outside of the folders that the service is about. */
  readonly isElsewhere: boolean;
  readonly policy: {
    readonly name: string;
    readonly checks: number;
    /** Names of the checks that read the folder. */
    readonly looksIntoFolder: readonly string[];
    /** The runners of these checks. Empty if the service runs them itself. */
    readonly runners: readonly string[];
  };
};
export type FindSessionContext = (service: Service, question: SessionQuestion) => Promise<SessionContext>;

const noSessionContext: FindSessionContext = async () => {
  throw new AppError('actor.unknown', 'this service does not know where sessions are judged');
};

type PlaceRoute = {
  Params: { agent: string };
  Querystring: { cwd?: unknown; policy?: unknown; fleet?: unknown };
};
type WakeRoute = { Params: { agent: string }; Querystring: { worker?: unknown; fleet?: unknown } };
type Route = {
  Params: { agent: string };
  Querystring: { event?: unknown; policy?: unknown; fleet?: unknown; tasks?: unknown; scope?: unknown };
};

export type HookRouteOptions = {
  /** Called with each permission request that is held for an operator. */
  readonly onHeld: (service: Service, ...held: Parameters<OnHeld>) => void;
  /** Called for each unreadable field of a call. */
  readonly noteUnread: (agent: string, field: string) => void;
};

const agentPath = z.object({ agent: oneOf(agents.keys()) });

export function addHookRoutes(
  app: FastifyInstance,
  { onHeld, noteUnread }: HookRouteOptions,
  findSessionContext: FindSessionContext = noSessionContext,
): void {
  const handlerOf = createPerService((service) =>
    createHookCallHandler(service, { onHeld: (held, over) => onHeld(service, held, over) }),
  );
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  const call = {
    config: {
      access: { role: 'agent', workers: 'own', fleets: 'own' },
      listed: [...agents.keys()].map((agent) => `POST /hooks/${agent}`),
    },
    schema: {
      tags: ['agents'],
      summary: "A call of an agent's hook; what it takes and returns is the agent's own form",
      params: agentPath,
      querystring: z.object({
        event: z.string().optional().describe('the name of the event, if the body does not contain it'),
        policy: idSchema.optional().describe('the policy that the worker names at its registration'),
        fleet: fleetInQuery,
        scope: z
          .enum(['user', 'project'])
          .optional()
          .describe('user: the hooks run in all folders, so a session outside of those of the service is ignored'),
      }),
      headers: z.object({
        'idempotency-key': idSchema.optional().describe('identifies the call, so that it can be repeated'),
      }),
      body: anyObject,
      response: { 200: anyObject, 204: noBody('nothing to tell the agent'), 404: errorSchema },
    },
  } as const;
  app.post<Route>('/hooks/:agent', call, async (request, reply) => {
    const { params, query, body } = request;
    const event = typeof query.event === 'string' ? query.event : undefined;
    const read = readerOf(params.agent)(body ?? {}, event);
    for (const field of read.unread) noteUnread(params.agent, field);
    const hookCall = restrictTo(callerOf(request), read);
    const { service } = fleetNamed(fleetsOf(request), query.fleet);
    const isElsewhere = (cwd: string) => findSessionContext(service, { agent: params.agent, policy: null, cwd });
    if (query.scope === 'user' && (await isForeignSession(service, hookCall, isElsewhere)))
      return reply.code(204).send();
    const answer = await handlerOf(service)(withPolicy(hookCall, query.policy), {
      key: callKeyOf(request.headers['idempotency-key']),
      set: hookSetOf(request.url, request.headers['user-agent']),
      taskList: typeof query.tasks === 'string' && query.tasks !== '' ? query.tasks.slice(0, listCharsMax) : undefined,
      noteUnread: (what) => noteUnread(params.agent, what),
      mayWrite: (worker) => isForWorker(callerOf(request), worker),
      gone: AbortSignal.any([closing.signal, whenClosed(reply)]),
    });
    return answer === null ? reply.code(204).send() : answer;
  });
  addWake(app, closing.signal);
  const place = {
    config: {
      access: { role: 'agent', workers: 'all', fleets: 'own' },
      listed: ['GET  /hooks/<agent>/place?cwd=<folder>'],
    },
    schema: {
      tags: ['agents'],
      summary: "Where a session would be judged: the service's user and file, and its policy",
      params: agentPath,
      querystring: z.object({
        cwd: z.string().optional().describe("the session's folder"),
        policy: idSchema.optional(),
        fleet: fleetInQuery,
      }),
      response: { 200: anyObject, 404: errorSchema },
    },
  } as const;
  app.get<PlaceRoute>('/hooks/:agent/place', place, async (request) => {
    const { agent } = request.params;
    const { cwd, policy, fleet } = request.query;
    readerOf(agent);
    const textOf = (given: unknown) => (typeof given === 'string' && given !== '' ? given : null);
    const { service } = fleetNamed(fleetsOf(request), fleet);
    return findSessionContext(service, { agent, policy: textOf(policy), cwd: textOf(cwd) });
  });
}

/**
 * Whether a user's hooks report a session that began outside of the service's folders. A known session is judged
 * wherever it goes.
 */
async function isForeignSession(
  service: Service,
  { session, cwd }: HookCall,
  find: (cwd: string) => Promise<SessionContext>,
): Promise<boolean> {
  if (cwd === null || (await service.peek(session, 0)) !== null) return false;
  return (await find(cwd)).isElsewhere;
}

/** Longer client names are cut, because they only distinguish sets of hooks. */
const clientCharsMax = 256;

/**
 * Tells sets of hooks apart by the line that makes the call: its URL without the event, and its client, in which the
 * hook command names its own line.
 */
function hookSetOf(url: string, client = ''): string {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  for (const name of ['event', 'tasks']) searchParams.delete(name);
  return `${pathname} ${searchParams} ${client.slice(0, clientCharsMax)}`;
}

/**
 * Returns the id of a call, with which a client can repeat it after a lost answer. The header may be quoted, like a
 * string in a structured header. A value that is not a valid id is always converted to the same id.
 */
function callKeyOf(header: string | string[] | undefined): string | undefined {
  const given = (Array.isArray(header) ? (header[0] ?? '') : (header ?? '')).trim();
  const quoted = /^"(.*)"$/s.exec(given)?.[1];
  const name = quoted === undefined ? given : quoted.replaceAll(/\\(.)/gs, '$1');
  return name === '' ? undefined : toId(name);
}

/**
 * Waits until a session's escalation is resolved, for a client that can prompt the session. The request is held while
 * the stop is judged and until a person has resolved it. The status 204 means "ask again", and a null prompt "nothing
 * to prompt".
 */
function addWake(app: FastifyInstance, closing: AbortSignal): void {
  const route = {
    config: {
      access: { role: 'agent', workers: 'own', fleets: 'own' },
      listed: ['GET  /hooks/<agent>/wake?worker=<session>'],
    },
    schema: {
      tags: ['agents'],
      summary: "Waits for how a session's escalation is resolved",
      params: agentPath,
      querystring: z.object({ worker: z.string().describe('the session'), fleet: fleetInQuery }),
      response: {
        200: z.object({ prompt: z.string().nullable() }),
        204: noBody('not yet resolved: ask again'),
        404: errorSchema,
      },
    },
  } as const;
  app.get<WakeRoute>('/hooks/:agent/wake', route, async (request, reply) => {
    const { params, query } = request;
    readerOf(params.agent);
    if (typeof query.worker !== 'string' || query.worker === '')
      throw new AppError('input.bad', 'name the session whose resolution you want: ?worker=<session>');
    const worker = toId(query.worker);
    checkWorker(callerOf(request), worker);
    const { service } = fleetNamed(fleetsOf(request), query.fleet);
    const signal = AbortSignal.any([closing, whenClosed(reply), AbortSignal.timeout(wakeHoldMs)]);
    const view = await service.untilResolved(worker, signal);
    if (isUndecided(view)) return reply.code(204).send();
    return { prompt: view.resolution?.verdict === 'resume' ? view.resolution.prompt : null };
  });
}

function readerOf(agent: string): ReadHook {
  const read = agents.get(agent)?.readHook;
  if (read !== undefined) return read;
  throw new AppError(
    'actor.unknown',
    `no adapter for the agent '${agent}'; available: ${[...agents.keys()].join(', ')}`,
  );
}

/**
 * Restricts a call to the caller's workers. A sub-agent's call may also write to its parent and registers under it. If
 * any of its workers is not the caller's, nothing is stored.
 * @throws AppError role.lacking, here or during the translation
 */
function restrictTo(caller: Caller, call: HookCall): HookCall {
  checkWorker(caller, call.worker);
  return {
    ...call,
    translate(...known) {
      const translation = call.translate(...known);
      for (const { id, data } of translation.entries) {
        checkWorker(caller, id);
        if ('parent' in data && typeof data.parent === 'string') checkWorker(caller, data.parent);
      }
      return translation;
    },
  };
}

/** Adds `?policy=P` of the URL (`stopgate init --policy`) to the worker's registration. */
function withPolicy(call: HookCall, policy: unknown): HookCall {
  if (policy === undefined) return call;
  if (typeof policy !== 'string' || !isId(policy))
    throw new AppError('input.bad', `?policy=${String(policy)} is not the name of a policy`);
  return {
    ...call,
    translate(...known) {
      const translation = call.translate(...known);
      const entries = translation.entries.map((entry) =>
        entry.type === 'worker.registered' ? { ...entry, data: { policy, ...entry.data } } : entry,
      );
      return { ...translation, entries };
    },
  };
}

/**
 * The client: asks for decisions, publishes entries, reads what is known, and serves checks and hooks. Without options
 * it finds what the command line finds: STOPGATE_* variables, stopgate.yaml, the running `stopgate dev` of this folder.
 */
import type { AttemptFields, Decision, WorkerView } from '../../machines/index.ts';
import { loadConfig, refuseOtherService } from '../config/config.ts';
import { defaultCredentials } from '../config/store.ts';
import { type ClientLink, openClientLink } from '../nats/client-link.ts';
import { privateInbox } from '../nats/permissions.ts';
import { checkId } from '../parse-input.ts';
import { type Asks, type CallOptions, createAsks } from './asks.ts';
import { createPublish, type EntryFields, type EntryType, type Publish, type Stored } from './entries.ts';
import { createHooks, type Hooks } from './hooks.ts';
import { createReads, type Reads } from './reads.ts';
import { readDecision } from './replies.ts';
import { createServing, type Serve, type Serving } from './serving.ts';

export type ConnectOptions = {
  /** One or more servers, separated by commas; may hold user and password. */
  readonly nats?: string;
  readonly fleet?: string;
  /** Credentials: a NATS `.creds` file, or JSON `{ "user", "pass" }`. Default: those of `role`. */
  readonly creds?: string;
  /** The same to serve checks and hooks with, where `creds` may not. Default: those of role `check`, else `creds`. */
  readonly checkCreds?: string;
  /**
   * Whose credentials are taken from the folder of an embedded server: `agent` (default) needs none; `operator` may
   * resolve and retire as well; `check` may serve checks, and nothing else.
   */
  readonly role?: 'agent' | 'operator' | 'check';
  /** Where the search for stopgate.yaml and `.stopgate` begins; default: the folder of this process. */
  readonly cwd?: string;
  /** As the NATS server shows this connection. */
  readonly name?: string;
};

/** Each call may throw a StopgateError: service.unreachable, log.unavailable, log.lost, service.busy, input.bad. */
export type Client = Asks &
  Reads &
  Hooks & {
    readonly fleet: string;
    /** Stores an entry. `messageId`: the same twice within 2 minutes is stored once. @throws also entry.large */
    readonly publish: Publish;
    /** Serves the check `remote: <name>`. Several servers of one name share the questions. */
    readonly serveCheck: Serve;
    /** Hears the decisions about a worker, or (null) about all, from the moment it resolves. */
    onDecision(worker: string | null, listener: (decision: Decision) => unknown): Promise<{ close(): void }>;
    /** The same calls for one worker. */
    worker(id: string): WorkerHandle;
    /** Answers what the checks were asked, then disconnects. */
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
  };

export type WorkerHandle = {
  readonly id: string;
  publish<Type extends EntryType<'worker'>>(
    type: Type,
    data?: EntryFields<'worker', Type>,
    options?: { readonly messageId?: string },
  ): Promise<Stored>;
  decide(attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  probe(attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  assertComplete(attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  get(): Promise<WorkerView>;
};

/** @throws StopgateError service.unreachable: no server, or it refused the credentials; config.bad, input.bad */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const { nats, fleet, creds, checkCreds, role = 'agent', cwd, name = 'stopgate client' } = options;
  const config = await loadConfig({
    flags: { nats, creds, fleet, http: 'off' }, // HTTP is nothing to a client
    ...(cwd === undefined ? {} : { cwd }),
  });
  refuseOtherService(config);
  const place = { url: config.nats, fleet: config.fleet, name };
  const credsFile = role === 'agent' ? (config.creds ?? undefined) : defaultCredentials(config, role);
  // As on the command line: what an operator is answered nobody else shall hear. The fast path answers where all hear.
  const isOperator = role === 'operator' && config.creds === null && credsFile !== undefined;
  const link = await openClientLink({ ...place, credsFile, ...(isOperator ? { inboxPrefix: privateInbox } : {}) });
  const forChecks = checkCreds ?? (config.creds === null ? defaultCredentials(config, 'check') : undefined);
  const serving = createServing(async () =>
    forChecks === undefined || forChecks === credsFile
      ? { link, isOwn: false }
      : { link: await openClientLink({ ...place, credsFile: forChecks }), isOwn: true },
  );
  return createClient(config.fleet, link, serving, createAsks(link, { fastPath: !isOperator }));
}

function createClient(fleet: string, link: ClientLink, serving: Serving, asks: Asks): Client {
  const publish = createPublish(link);
  const reads = createReads(link);
  const close = async () => {
    await serving.close();
    await link.close();
  };
  return {
    fleet,
    ...asks,
    ...reads,
    ...createHooks({ publish, getTask: reads.getTask, serve: serving.serve }),
    publish,
    serveCheck: serving.serve,
    async onDecision(worker, listener) {
      if (worker !== null) checkId('worker', worker);
      return link.hear(worker, (text) => {
        const decision = readHeard(text);
        // What a listener throws is for its own program, as an unhandled rejection.
        if (decision !== null) void (async () => listener(decision))();
      });
    },
    worker: (id) => ({
      id,
      publish: (type, data, how) => publish('worker', id, type, data, how),
      decide: (attempt, how) => asks.decide(id, attempt, how),
      probe: (attempt, how) => asks.probe(id, attempt, how),
      assertComplete: (attempt, how) => asks.assertComplete(id, attempt, how),
      get: () => reads.getWorker(id),
    }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** On a bus anybody may say something: what is no decision is passed over. */
function readHeard(text: string): Decision | null {
  try {
    return readDecision(JSON.parse(text));
  } catch {
    return null;
  }
}

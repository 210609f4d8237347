/**
 * The client: requests decisions, publishes entries, queries the fleet, and serves checks and hooks. Without options it
 * finds the service like the command line does: STOPGATE_* variables, stopgate.yaml, a `stopgate dev` running in this
 * folder.
 */
import type { AttemptFields, Decision, TaskDetail, TaskView, WorkerView } from '../../machines/index.ts';
import { loadConfig, refuseOtherService } from '../config/config.ts';
import { givenCredentials } from '../config/own-address.ts';
import { defaultCredentials } from '../config/store.ts';
import { AppError } from '../errors.ts';
import { type ClientLink, openClientLink } from '../nats/client-link.ts';
import { privateInboxPrefix } from '../nats/permissions.ts';
import { checkId } from '../service/parse-input.ts';
import { type CallOptions, createDecisionCalls, type DecisionCalls } from './decision-calls.ts';
import { createPublish, type EntryFields, type EntryType, type Publish, type Stored } from './entries.ts';
import { createHooks, type Hooks } from './hooks.ts';
import {
  type ClaimOptions,
  createOperatorCalls,
  createTaskCalls,
  type OperatorCalls,
  type TaskCalls,
} from './operator-calls.ts';
import { createQueries, type Queries } from './queries.ts';
import { readDecision } from './replies.ts';
import { createServedChecks, type Serve, type ServedChecks } from './serve-check.ts';

export type ConnectOptions = {
  /** One or more server URLs, separated by commas. May contain user and password. */
  readonly nats?: string;
  readonly fleet?: string;
  /**
   * Path of a NATS `.creds` file, or JSON: `{ "user", "pass" }` or `{ "cert", "key" }`. Default: the credentials of
   * `role`.
   */
  readonly creds?: string;
  /** Credentials for serving checks and hooks. Default: those of role `check` if they exist, otherwise `creds`. */
  readonly checkCreds?: string;
  /**
   * Which credentials to use from the folder of an embedded server. `agent` (default) needs none. `operator` may also
   * answer requests, resolve escalations and retire workers. `check` may only serve checks.
   */
  readonly role?: 'agent' | 'operator' | 'check';
  /** Folder in which the search for stopgate.yaml and `.stopgate` starts. Default: the working directory. */
  readonly cwd?: string;
  /** Connection name shown by the NATS server. */
  readonly name?: string;
};

/** Every call may throw a StopgateError: service.unreachable, log.unavailable, log.lost, service.busy or input.bad. */
export type Client = DecisionCalls &
  Queries &
  Hooks &
  TaskCalls &
  OperatorCalls & {
    readonly fleet: string;
    /**
     * Stores an entry. Entries with the same `messageId` within 2 minutes are stored once.
     * @throws also entry.large, and entry.refused: the entry is in the log but changes nothing
     */
    readonly publish: Publish;
    /** Serves the check `remote: <name>`. Servers with the same name share its requests. */
    readonly serveCheck: Serve;
    /** Subscribes to the decisions about one worker, or about all with null. Active once the promise resolves. */
    onDecision(worker: string | null, listener: (decision: Decision) => unknown): Promise<{ close(): void }>;
    /** Binds the calls above to one worker. */
    worker(id: string): WorkerHandle;
    /** Finishes running checks, then disconnects. */
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
  claimNext(options?: ClaimOptions): Promise<TaskView | null>;
  failTask(task: string, reason?: string): Promise<TaskDetail>;
  releaseTask(task: string): Promise<TaskDetail>;
};

const roles: readonly unknown[] = ['agent', 'operator', 'check'];

/** @throws StopgateError service.unreachable (no server, or credentials refused), config.bad or input.bad */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const { nats, fleet, creds, checkCreds, role = 'agent', cwd, name = 'stopgate client' } = options;
  // A program in JavaScript may pass any word, and would get the credentials of none.
  if (!roles.includes(role))
    throw new AppError('input.bad', `role must be one of ${roles.join(', ')}, not '${String(role)}'`);
  const config = await loadConfig({
    flags: { nats, creds, fleet, http: 'off' }, // the client does not use HTTP
    ...(cwd === undefined ? {} : { cwd }),
  });
  refuseOtherService(config);
  const target = { url: config.nats, fleet: config.fleet, name };
  const credsFile = role === 'agent' ? givenCredentials(config) : defaultCredentials(config, role);
  const checkCredsFile =
    checkCreds === undefined
      ? config.creds === null
        ? defaultCredentials(config, 'check')
        : undefined
      : givenCredentials({ ...config, creds: checkCreds, credsIsFound: false });
  // An operator's replies go to a private inbox. The fast path replies on subjects that anyone may subscribe to.
  const isOperator = role === 'operator' && config.creds === null && credsFile !== undefined;
  const link = await openClientLink({
    ...target,
    credsFile,
    ...(isOperator ? { inboxPrefix: privateInboxPrefix } : {}),
  });
  const checks = createServedChecks(async () =>
    checkCredsFile === undefined || checkCredsFile === credsFile
      ? { link, isOwn: false }
      : { link: await openClientLink({ ...target, credsFile: checkCredsFile }), isOwn: true },
  );
  return createClient(config.fleet, link, checks, createDecisionCalls(link, { fastPath: !isOperator }));
}

function createClient(fleet: string, link: ClientLink, checks: ServedChecks, decisions: DecisionCalls): Client {
  const publish = createPublish(link, fleet);
  const queries = createQueries(link);
  const tasks = createTaskCalls(link, publish, queries);
  const close = async () => {
    await checks.close();
    await link.close();
  };
  return {
    fleet,
    ...decisions,
    ...queries,
    ...tasks,
    ...createOperatorCalls(publish, queries),
    ...createHooks({ publish, getTask: queries.getTask, serve: checks.serve }),
    publish,
    serveCheck: checks.serve,
    async onDecision(worker, listener) {
      if (worker !== null) checkId('worker', worker);
      return link.subscribe(worker, (text) => {
        const decision = tryReadDecision(text);
        // An error in the listener surfaces as an unhandled rejection in the caller's program.
        if (decision !== null) void (async () => listener(decision))();
      });
    },
    worker: (id) => ({
      id,
      publish: (type, data, options) => publish('worker', id, type, data, options),
      decide: (attempt, options) => decisions.decide(id, attempt, options),
      probe: (attempt, options) => decisions.probe(id, attempt, options),
      assertComplete: (attempt, options) => decisions.assertComplete(id, attempt, options),
      get: () => queries.getWorker(id),
      claimNext: (options) => tasks.claimNext(id, options),
      failTask: (task, reason) => tasks.failTask(id, task, reason),
      releaseTask: (task) => tasks.releaseTask(id, task),
    }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns null if `text` is not a decision: on a bus without permissions, anyone may publish to the subject. */
function tryReadDecision(text: string): Decision | null {
  try {
    return readDecision(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Starts a replica with a runner, and a plain client that acts as workers, tasks and check servers. */
import type { Decision, HookResult, TaskDetail, WorkerView } from '../../machines/index.ts';
import { claude } from '../../src/agents/claude/callers.ts';
import { createHookCallHandler } from '../../src/agents/index.ts';
import type { Replica } from '../../src/app/replica.ts';
import type { Logger } from '../../src/log.ts';
import { createMcpServer } from '../../src/mcp/server.ts';
import { createRunner } from '../../src/runner/runner.ts';
import { type Answer, type Client, openClient } from '../support/client.ts';
import type { Folder } from '../support/deployment.ts';
import { startReplica } from '../support/replica.ts';
import { openNats } from '../support/shared-server.ts';
import { recorded } from '../unit/agents/recordings/claude.ts';
import { commands } from './003-deterministic-stop/commands.ts';

export type Question = Record<string, unknown>;
export type Worker = {
  readonly id: string;
  publish(type: string, data?: object): Promise<unknown>;
  stop(attempt?: object): Promise<Decision>;
  probe(): Promise<Decision>;
  verify(): Promise<Answer>;
  view(): Promise<WorkerView>;
};
export type Task = {
  readonly id: string;
  publish(type: string, data?: object): Promise<unknown>;
  /** Asks the hooks of the task about the iteration. */
  evaluate(work?: object): Promise<HookResult>;
  view(): Promise<TaskDetail>;
};
export type LoggedEntry = {
  readonly seq: number;
  readonly at: string;
  readonly subject: string;
  readonly data: Record<string, unknown>;
};
export type SeedService = {
  readonly url: string;
  readonly wire: Client;
  /** The warnings of the service so far. */
  readonly warnings: readonly Record<string, unknown>[];
  /** Creates a worker with its own policy, in the form of the configuration. null is the default policy. */
  worker(policy: object | null, registration?: object): Promise<Worker>;
  /** Creates a task with these hooks (`h1`, `h2`, …), in an iteration. */
  task(hooks: readonly object[], iteration?: object): Promise<Task>;
  /**
   * Serves a remote check, and returns its name and the questions that it gets. A text is replied unchanged; null sends
   * no reply.
   */
  serveCheck(
    answer: (question: Question) => unknown,
    name?: string,
  ): Promise<{ readonly name: string; readonly asked: Question[] }>;
  /** Returns a unique `<prefix>-<number>`. */
  newId(prefix: string): string;
  /** Returns the entries of the log whose subjects have these ends, in order, as lines for `replay`. */
  entries(...tails: readonly string[]): Promise<LoggedEntry[]>;
  /** Plays a recorded hook call of Claude Code in the session of this worker. Returns the JSON answer, or null. */
  claude(worker: string, recording: string, changes?: object): Promise<object | null>;
  mcpServer(): ReturnType<typeof createMcpServer>;
  /** Starts another replica, which knows only the log. */
  openReplica(): Promise<Replica>;
  close(): Promise<void>;
};

export async function openService(folder: Folder): Promise<SeedService> {
  const warnings: Record<string, unknown>[] = [];
  const logger = warningLogger(warnings);
  const server = await openNats();
  const wire = await openClient(server.url);
  const runner = createRunner({ roots: ['.'], baseDir: folder.path, commands, env: {}, log: logger });
  const open = (name: string) => startReplica({ nats: server.url, name, logger, runCheck: runner.run });
  const replica = await open('r1');
  const answerHook = createHookCallHandler(replica.service);
  const policies: Record<string, object> = {};
  let count = 0;
  const newId = (prefix: string) => {
    count += 1;
    return `${prefix}-${count}`;
  };
  return {
    newId,
    url: server.url,
    wire,
    warnings,
    async worker(policy, registration = {}) {
      const id = newId('w');
      if (policy !== null) {
        policies[id] = policy;
        await wire.publish('own.fleet.main.policy.set', { policies });
      }
      await wire.publish(`worker.${id}.worker.registered`, {
        ...(policy === null ? {} : { policy: id }),
        ...registration,
      });
      return workerOn(wire, id);
    },
    async task(hooks, iteration = {}) {
      const task = taskOn(wire, newId('T'));
      for (const [index, hook] of hooks.entries())
        await task.publish('hook.registered', { hook: `h${index + 1}`, ...hook });
      await task.publish('iteration.started', { iteration: 1, maxIterations: 20, ...iteration });
      return task;
    },
    serveCheck: (answer, name = newId('check')) => serveCheckOn(wire, name, answer),
    entries: (...tails) => entriesOn(wire, tails),
    async claude(worker, recording, changes = {}) {
      // A hook call sees the state that this replica has folded, which may be slightly behind.
      await wire.ask(`get.worker.${worker}`);
      return answerHook(claude.readHook({ ...recorded(recording), session_id: worker, ...changes }));
    },
    mcpServer: () =>
      createMcpServer({
        port: replica.service,
        onBug(error) {
          throw error;
        },
      }),
    openReplica: () => open('r2'),
    async close() {
      await replica.close();
      await runner.close();
      await wire.close();
      await server.stop();
    },
  };
}

function workerOn(wire: Client, id: string): Worker {
  return {
    id,
    publish: (type, data) => wire.publish(`worker.${id}.${type}`, data),
    stop: async (attempt) => (await wire.ask(`decide.${id}`, attempt)).body,
    probe: async () => (await wire.ask(`probe.${id}`, {})).body,
    verify: () => wire.ask(`verify.${id}`, {}),
    view: async () => (await wire.ask(`get.worker.${id}`)).body as unknown as WorkerView,
  };
}

function taskOn(wire: Client, id: string): Task {
  const view = async () => (await wire.ask(`get.task.${id}`)).body as unknown as TaskDetail;
  return {
    id,
    publish: (type, data) => wire.publish(`task.${id}.${type}`, data),
    async evaluate(work = {}) {
      const { iteration } = await view();
      return (await wire.ask(`evaluate.${id}`, { iteration, ...work })).body as unknown as HookResult;
    },
    view,
  };
}

async function entriesOn({ manager }: Client, tails: readonly string[]): Promise<LoggedEntry[]> {
  const found: LoggedEntry[] = [];
  for (const tail of tails) {
    for (let seq = 1; ; ) {
      const next = { seq, next_by_subj: `stopgate.main.${tail}` };
      const message = await manager.streams.getMessage('STOPGATE_main', next);
      if (message === null) break;
      const { subject, time } = message;
      found.push({ seq: message.seq, at: time.toISOString(), subject, data: message.json() });
      seq = message.seq + 1;
    }
  }
  return found.sort((a, b) => a.seq - b.seq);
}

async function serveCheckOn(wire: Client, name: string, answer: (question: Question) => unknown) {
  const asked: Question[] = [];
  wire.nc.subscribe(`stopgate.main.check.${name}`, {
    callback(_error, message) {
      const question = message.json<Question>();
      asked.push(question);
      void (async () => {
        const reply = await answer(question);
        if (reply !== null) message.respond(typeof reply === 'string' ? reply : JSON.stringify(reply));
      })();
    },
  });
  await wire.nc.flush();
  return { name, asked };
}

function warningLogger(warnings: Record<string, unknown>[]): Logger {
  const logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (data: object | string, message = '') => {
      if (typeof data === 'object') warnings.push({ ...data, message });
    },
    error: () => undefined,
    child: () => logger,
  };
  return logger;
}

/** A replica on a nats-server with a plain client beside it, for tests that need the wire and no second process. */
import type { Decision, TaskDetail, WorkerView } from '../../machines/index.ts';
import type { ReplicaOptions } from '../../src/app/replica.ts';
import type { Logger } from '../../src/log.ts';
import { type Client, openClient } from '../support/client.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { startReplica } from '../support/replica.ts';

export type Live = {
  readonly client: Client;
  stop(worker: string, fields?: object): Promise<Decision>;
  worker(id: string): Promise<WorkerView>;
  task(id: string): Promise<TaskDetail>;
  /** Serves a remote check; each question is kept. An answer that is null is none. */
  serve(check: string, answer: (question: Question) => object | string | null): Promise<Question[]>;
  /** Messages of the replicas' warnings so far, with their data. */
  readonly warnings: { readonly message: string; readonly [key: string]: unknown }[];
  close(): Promise<void>;
};
export type Question = Record<string, unknown>;

export async function startLive(policies: object, options: Partial<ReplicaOptions> = {}): Promise<Live> {
  const warnings: Live['warnings'] = [];
  const logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (data: object | string, message = '') => {
      if (typeof data === 'object') warnings.push({ ...data, message });
    },
    error: () => undefined,
    child: () => logger,
  };
  const server = await startNatsServer();
  const client = await openClient(server.url);
  const replica = await startReplica({ nats: server.url, policies: { policies } as never, logger, ...options });
  return {
    client,
    warnings,
    stop: async (worker, fields = {}) => (await client.ask(`decide.${worker}`, fields, 20_000)).body,
    worker: async (id) => (await client.ask(`get.worker.${id}`)).body as unknown as WorkerView,
    task: async (id) => (await client.ask(`get.task.${id}`)).body as unknown as TaskDetail,
    async serve(check, answer) {
      const asked: Question[] = [];
      client.nc.subscribe(`stopgate.main.check.${check}`, {
        queue: 'stopgate-check',
        callback(_error, message) {
          const question = message.json<Question>();
          asked.push(question);
          const said = answer(question);
          if (said !== null) message.respond(typeof said === 'string' ? said : JSON.stringify(said));
        },
      });
      await client.nc.flush();
      return asked;
    },
    async close() {
      await replica.close();
      await client.close();
      await server.stop();
    },
  };
}

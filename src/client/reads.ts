/** get and list: what is known of workers, tasks and queues. */
import type { Presence, QueueView, State, TaskView, WorkerView } from '../../machines/index.ts';
import type { ClientLink } from '../nats/requester.ts';
import { checkId } from '../service/decide.ts';
import { type Page, readPage, readView, type Views } from './replies.ts';

export type ListFilter = {
  readonly state?: State;
  readonly presence?: Presence;
  readonly queue?: string;
  readonly agent?: string;
  /** 100 by default. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
};

export type Reads = {
  /** Each sees what was stored before it was asked. @throws StopgateError actor.unknown */
  getWorker(id: string): Promise<WorkerView>;
  getTask(id: string): Promise<TaskView>;
  getQueue(id: string): Promise<QueueView>;
  listWorkers(filter?: ListFilter): Promise<Page<WorkerView>>;
  listTasks(filter?: ListFilter): Promise<Page<TaskView>>;
  listQueues(filter?: ListFilter): Promise<Page<QueueView>>;
};

const timeoutMs = 5_000;

export function createReads(link: ClientLink): Reads {
  const get = async <Entity extends keyof Views>(entity: Entity, id: string) => {
    checkId(entity, id);
    return readView(entity, await link.request('get', `${entity}.${id}`, {}, timeoutMs));
  };
  const list = async <Entity extends keyof Views>(entity: Entity, filter: ListFilter = {}) =>
    readPage(entity, await link.request('list', `${entity}s`, filter, timeoutMs));
  return {
    getWorker: (id) => get('worker', id),
    getTask: (id) => get('task', id),
    getQueue: (id) => get('queue', id),
    listWorkers: (filter) => list('worker', filter),
    listTasks: (filter) => list('task', filter),
    listQueues: (filter) => list('queue', filter),
  };
}

/** The calls get and list: views of workers, tasks and queues, and the escalations that wait for a person. */
import type {
  PersonKind,
  PersonWait,
  QueueView,
  State,
  TaskDetail,
  TaskView,
  ViewedPresence,
  WorkerView,
} from '../../machines/index.ts';
import type { ClientLink } from '../nats/client-link.ts';
import { checkId } from '../service/parse-input.ts';
import { type Page, readDetail, readPage, readPersonWaits, readView, type Views } from './replies.ts';

export type ListFilter = {
  readonly state?: State;
  readonly presence?: ViewedPresence;
  readonly queue?: string;
  readonly agent?: string;
  /** Sorts by usage, largest first (a worker's current session). Default: by id. */
  readonly sort?: 'usd' | 'tokens' | 'turns';
  /** Default: 100. */
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly after?: string;
};

export type Queries = {
  /** Queries reflect every entry stored before they were sent. @throws StopgateError actor.unknown */
  getWorker(id: string): Promise<WorkerView>;
  /** Includes one checkpoint in full: the named one, or the latest. */
  getTask(id: string, options?: { readonly checkpoint?: string }): Promise<TaskDetail>;
  getQueue(id: string): Promise<QueueView>;
  listWorkers(filter?: ListFilter): Promise<Page<WorkerView>>;
  listTasks(filter?: Omit<ListFilter, 'presence' | 'agent'>): Promise<Page<TaskView>>;
  listQueues(filter?: Pick<ListFilter, 'queue' | 'limit' | 'after'>): Promise<Page<QueueView>>;
  /** Everything that waits for a person: escalated workers and tasks, and agents' requests. */
  listEscalations(filter?: Omit<ListFilter, 'sort'> & { readonly kind?: PersonKind }): Promise<Page<PersonWait>>;
};

const timeoutMs = 5_000;

export function createQueries(link: ClientLink): Queries {
  const get = async (entity: keyof Views, id: string, body: object = {}) => {
    checkId(entity, id);
    return link.request('get', `${entity}.${id}`, body, timeoutMs);
  };
  const list = async <Entity extends keyof Views>(entity: Entity, filter: ListFilter = {}) =>
    readPage(entity, await link.request('list', `${entity}s`, filter, timeoutMs));
  return {
    getWorker: async (id) => readView('worker', await get('worker', id)),
    getTask: async (id, options) => readDetail(await get('task', id, options)),
    getQueue: async (id) => readView('queue', await get('queue', id)),
    listWorkers: (filter) => list('worker', filter),
    listTasks: (filter) => list('task', filter),
    listQueues: (filter) => list('queue', filter),
    listEscalations: async (filter = {}) =>
      readPersonWaits(await link.request('list', 'escalations', filter, timeoutMs)),
  };
}

/** A Service in memory, for the edge alone: it remembers what it was asked, and answers as it is told. */
import type { WorkerView } from '../../../machines/index.ts';
import { AppError } from '../../../src/errors.ts';
import type { NewEntry, Service, ServiceStatus } from '../../../src/service/service.ts';

type Asked = { readonly verb: string; readonly id: string; readonly body: unknown };

export type FakeService = Service & {
  readonly published: NewEntry[];
  readonly asked: Asked[];
  /** Workers that `get` finds, by id: the fields of a view that an edge may read. */
  readonly views: Map<string, object>;
  /** How often `get` was asked. */
  lookedUp: number;
  answer: { decision: 'allow' | 'block'; action: string; reason: string; nextPrompt: string | null };
  /** Thrown by whatever is asked next, until it is null again. */
  fault: Error | null;
  /** What a decision, or the storing of an entry, waits for. */
  pause: Promise<unknown>;
  state: ServiceStatus;
};

export function createFakeService(): FakeService {
  const published: NewEntry[] = [];
  const asked: Asked[] = [];
  const note = async (verb: string, id: string, body: unknown) => {
    asked.push({ verb, id, body });
    await fake.pause;
    if (fake.fault !== null) throw fake.fault;
    return { ...fake.answer, worker: id, cause: 'incomplete' } as never;
  };
  const fake: FakeService = {
    fleet: 'main',
    replica: 'r1',
    published,
    asked,
    views: new Map(),
    lookedUp: 0,
    answer: { decision: 'allow', action: 'complete', reason: 'fine', nextPrompt: null },
    fault: null,
    pause: Promise.resolve(),
    state: { ready: true, reason: null, code: null, foldedSeq: 42, workers: 1, openAttempts: 3 },
    async publish(entry) {
      await fake.pause;
      if (fake.fault !== null) throw fake.fault;
      return { seq: published.push(entry) };
    },
    decide: (worker, body) => note('decide', worker, body),
    probe: (worker, body) => note('probe', worker, body),
    verify: (worker, body) => note('verify', worker, body),
    evaluate: (task, body) => note('evaluate', task, body),
    async get(entity, id) {
      fake.lookedUp += 1;
      const view = fake.views.get(id);
      if (view === undefined) throw new AppError('actor.unknown', `no ${entity} '${id}'`);
      return view as never;
    },
    async peek(worker) {
      fake.lookedUp += 1;
      return (fake.views.get(worker) ?? null) as never;
    },
    async untilResolved(worker, signal) {
      const view = (await fake.get('worker', worker)) as WorkerView;
      if (view.state === 'escalated' && !signal.aborted)
        await new Promise((done) => signal.addEventListener('abort', done, { once: true }));
      return view;
    },
    operate: (word, body) => note('operate', word, body),
    async list(entity, body) {
      asked.push({ verb: 'list', id: entity, body });
      return { items: [], next: null };
    },
    status: () => fake.state,
  };
  return fake;
}

/** A Service in memory, to test an edge separately. It records requests and answers as the test sets it up. */
import type { WorkerView } from '../../../machines/index.ts';
import { AppError } from '../../../src/errors.ts';
import type { Service } from '../../../src/service/index.ts';
import type { NewEntry } from '../../../src/service/publish.ts';
import type { ServiceStatus } from '../../../src/service/status.ts';

type Request = { readonly verb: string; readonly id: string; readonly body: unknown };

export type FakeService = Service & {
  readonly published: NewEntry[];
  readonly requests: Request[];
  /** The views that `get` returns, by id, with the fields that an edge reads. */
  readonly views: Map<string, object>;
  /** Calls of `get` and `peek`. */
  readCount: number;
  answer: {
    decision: 'allow' | 'block';
    action: string;
    cause?: string;
    reason: string;
    nextPrompt: string | null;
    feedback?: readonly object[];
    verdicts?: readonly object[];
  };
  /** If not null, every request throws it. */
  fault: Error | null;
  /** The reason why entries are refused after the fold, or null. */
  refusal: string | null;
  /** Decisions and publishes wait for this promise. */
  pause: Promise<unknown>;
  state: ServiceStatus;
  runnersMissing: readonly string[];
  /** Restores the initial state. */
  reset(): void;
};

/** What a test may set. */
const initial = (): Pick<
  FakeService,
  'readCount' | 'answer' | 'fault' | 'refusal' | 'pause' | 'runnersMissing' | 'state'
> => ({
  readCount: 0,
  answer: { decision: 'allow', action: 'complete', reason: 'fine', nextPrompt: null },
  fault: null,
  refusal: null,
  pause: Promise.resolve(),
  runnersMissing: [],
  state: {
    ready: true,
    reason: null,
    code: null,
    lag: 0,
    foldedSeq: 42,
    workers: 1,
    openAttempts: 3,
    neglected: 2,
    stateShare: 0,
  },
});

export function createFakeService(): FakeService {
  const published: NewEntry[] = [];
  const requests: Request[] = [];
  const note = async (verb: string, id: string, body: unknown) => {
    requests.push({ verb, id, body });
    await fake.pause;
    if (fake.fault !== null) throw fake.fault;
    return { ...fake.answer, worker: id, cause: 'incomplete' } as never;
  };
  const fake: FakeService = {
    fleet: 'main',
    replica: 'r1',
    published,
    requests,
    views: new Map(),
    ...initial(),
    reset() {
      published.length = 0;
      requests.length = 0;
      fake.views.clear();
      Object.assign(fake, initial());
    },
    async publish(entry) {
      await fake.pause;
      if (fake.fault !== null) throw fake.fault;
      return { seq: published.push(entry) };
    },
    async submit(entry) {
      const stored = await fake.publish(entry);
      if (fake.refusal !== null) throw new AppError('entry.refused', fake.refusal);
      return stored;
    },
    decide: (worker, body) => note('decide', worker, body),
    probe: (worker, body) => note('probe', worker, body),
    verify: (worker, body) => note('verify', worker, body),
    verifyTask: (task, body) => note('verify-task', task, body),
    claimNext: (worker, body) => note('claim-next', worker, body),
    evaluate: (task, body) => note('evaluate', task, body),
    async get(entity, id) {
      fake.readCount += 1;
      const view = fake.views.get(id);
      if (view === undefined) throw new AppError('actor.unknown', `no ${entity} '${id}'`);
      return view as never;
    },
    judging: () => ({ inspecting: new Set(), hasHooks: false }),
    untilAnswered: async () => null,
    async peek(worker) {
      fake.readCount += 1;
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
      requests.push({ verb: 'list', id: entity, body });
      return { items: [], next: null };
    },
    status: () => fake.state,
    sessionPolicy: () => ({ name: 'default', checks: [], runners: [] }),
    missingRunners: async () => fake.runnersMissing,
  };
  return fake;
}

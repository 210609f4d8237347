/** Serves one hook call: looks its worker up, stores its entries and, where the agent waits for an answer, gets one. */
import { randomUUID } from 'node:crypto';
import type { Decision, WorkerView } from '../../../machines/index.ts';
import { createKeyedMutex } from '../../concurrency/semaphore.ts';
import type { Service } from '../../service/index.ts';
import type { HookCall, WorkerEntry } from '../agent.ts';
import { awaitAnswer, type HeldRequest, request } from './permission-requests.ts';
import { toPriorWorker, unknownWorker } from './prior-worker.ts';
import { isForComplete, isNews, isWanted, type UnsolicitedCheck } from './unsolicited-checks.ts';

/** Some agents do not mark the end of a batch of tools. Not every call of such a batch is checked. */
const checkEveryMs = 2_000;

/** `key`: names the call, and is the same in every post of it. Without one, each post is a call of its own. */
export type CallOptions = {
  readonly key?: string | undefined;
  /** The agent does not wait for the answer any more. */
  readonly gone?: AbortSignal;
};
/** Resolves to null for an empty answer. */
export type HookCallHandler = (call: HookCall, options?: CallOptions) => Promise<object | null>;

/** Gets each request that is held for an operator; `over` fires when nobody waits for its answer any more. */
export type OnHeld = (held: HeldRequest, over: AbortSignal) => void;
type Options = {
  /** In milliseconds. */
  readonly stopwatch?: () => number;
  readonly onHeld?: OnHeld;
};

export function createHookCallHandler(
  service: Service,
  { stopwatch = () => performance.now(), onHeld = () => {} }: Options = {},
): HookCallHandler {
  const mutex = createKeyedMutex();
  const workers = createWorkerStore(service);
  const isDue = createPacer(stopwatch);
  const answer = async (
    call: HookCall,
    next: NextStep | null,
    { key, gone = never }: CallOptions,
  ): Promise<object | null> => {
    if (next === null) return null;
    if (next.kind === 'ask') {
      const over = new AbortController();
      onHeld(next.held, over.signal);
      const publish = publisherFor(workers, next.held.worker);
      const given = await awaitAnswer(service, next.held, gone, publish).finally(() => over.abort());
      return given === null ? null : call.answerInput(given);
    }
    if (next.kind === 'immediate') return next.answer;
    if (next.kind === 'stop') return call.answer(await unwrap(next.decision));
    const { check } = next;
    if (!isDue(call.worker, check)) return null;
    const decision = await runCheck(service, call.worker, check, key);
    return decision === null ? null : call.answer(decision, check);
  };
  /**
   * The calls of a worker run one after the other: agents send some at the same time, and changes of a plan have an
   * order. A stop is only submitted there and not awaited: it may be held for minutes, and a prompt must be able to
   * end the hold.
   * @throws AppError what the service throws; agents take any error for "go on"
   */
  return async (call, options = {}) => {
    const next = await mutex.runExclusive(call.worker, () => store(service, workers, call, options.key));
    return answer(call, next, options);
  };
}

const never = new AbortController().signal;

/** The step that is left once the call's entries are stored. */
type NextStep =
  | { readonly kind: 'immediate'; readonly answer: object }
  /** The promise stands in an object, else the mutex would wait for it. */
  | { readonly kind: 'stop'; readonly decision: Promise<Decision | Error> }
  | { readonly kind: 'check'; readonly check: UnsolicitedCheck }
  | { readonly kind: 'ask'; readonly held: HeldRequest };

async function store(
  service: Service,
  workers: WorkerStore,
  call: HookCall,
  key: string | undefined,
): Promise<NextStep | null> {
  const { find, publish } = workers;
  const view = await find(call.worker);
  const prior = view === null ? unknownWorker : toPriorWorker(view);
  const { worker, entries, stop, check, ask, immediateAnswer } = call.translate(prior);
  for (const entry of named(entries, key)) await publish(entry);
  if (stop !== null)
    return { kind: 'stop', decision: decide(service, worker, { attempt: key ?? randomUUID(), ...stop }) };
  if (immediateAnswer !== null) return { kind: 'immediate', answer: immediateAnswer };
  if (check === null && ask === null) return null;
  // A registration may have changed which policy is in force.
  const now = prior.registered ? view : await find(worker);
  const rules = now?.rules;
  if (ask !== null) {
    const held = await request(worker, ask, rules?.askMs ?? null, publisherFor(workers, worker));
    return held === null ? null : { kind: 'ask', held };
  }
  if (check === null) return null;
  return now !== null && isWanted(check, now) ? { kind: 'check', check } : null;
}

/** Counted by type: a second post of the call may need fewer of them, such as no registration. */
function named(entries: readonly WorkerEntry[], key: string | undefined): readonly WorkerEntry[] {
  if (key === undefined) return entries;
  const counts = new Map<string, number>();
  return entries.map((entry) => {
    const kind = `${entry.id}:${entry.type}`;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return { messageId: `${entry.id}:call:${key}:${entry.type}:${count}`, ...entry };
  });
}

/**
 * An agent that is told to stop gets a decision and not only a probe: it may end without another call, and its task
 * must count as completed. The checks run twice for that. Null: nothing to tell.
 */
async function runCheck(
  service: Service,
  worker: string,
  check: UnsolicitedCheck,
  key: string | undefined,
): Promise<Decision | null> {
  const probed = await service.probe(worker, {}, check === 'step' ? 'step' : 'stop');
  if (!isNews(check, probed)) return null;
  if (!isForComplete(check)) return probed;
  const decided = await service.decide(worker, { attempt: key ?? randomUUID(), stopReason: 'complete' });
  return isNews(check, decided) ? decided : null;
}

function createPacer(stopwatch: () => number): (worker: string, check: UnsolicitedCheck) => boolean {
  const checkedMs = new Map<string, number>();
  return (worker, check) => {
    if (check !== 'complete-throttled') return true;
    const now = stopwatch();
    // A Map keeps the order, so the oldest come first.
    for (const [other, at] of checkedMs) {
      if (now - at < checkEveryMs) break;
      checkedMs.delete(other);
    }
    if (checkedMs.has(worker)) return false;
    checkedMs.set(worker, now);
    return true;
  };
}

/** Gives an error as a value, since it may come before anybody awaits it. */
async function decide(service: Service, worker: string, body: object): Promise<Decision | Error> {
  try {
    return await service.decide(worker, body);
  } catch (error) {
    return error as Error;
  }
}

async function unwrap(decision: Promise<Decision | Error>): Promise<Decision> {
  const answer = await decision;
  if (answer instanceof Error) throw answer;
  return answer;
}

type WorkerStore = {
  readonly find: (worker: string) => Promise<WorkerView | null>;
  /** @returns its place in the log */
  readonly publish: (entry: WorkerEntry) => Promise<number>;
};

const publisherFor =
  ({ publish }: WorkerStore, worker: string) =>
  (type: string, data: object): Promise<number> =>
    publish({ entity: 'worker', id: worker, type, data });

/** A call sees what earlier calls have stored here. It need not ask the log for what others have stored meanwhile. */
function createWorkerStore(service: Service): WorkerStore {
  let storedSeq = 0;
  return {
    find: (worker) => service.peek(worker, storedSeq),
    async publish(entry) {
      const { seq } = await service.publish(entry);
      storedSeq = Math.max(storedSeq, seq);
      return seq;
    },
  };
}

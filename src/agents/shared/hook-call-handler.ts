/** Serves one hook call: looks its worker up, stores its entries and, where the agent waits for an answer, gets one. */
import { randomUUID } from 'node:crypto';
import type { Decision, WorkerView } from '../../../machines/index.ts';
import { createKeyedMutex } from '../../concurrency/semaphore.ts';
import { AppError } from '../../errors.ts';
import { setNewest } from '../../newest.ts';
import type { Service } from '../../service/index.ts';
import type { HookCall, Translation, WorkerEntry } from '../agent.ts';
import { resolveLinks } from './links.ts';
import { awaitAnswer, type HeldRequest, request } from './permission-requests.ts';
import { describeCommand, describeStanding, type PersonCommand, personAtSession } from './person-command.ts';
import { type PriorWorker, toPriorWorker, unknownWorker } from './prior-worker.ts';
import { createSharedPlans, type SharedPlans, statusesIn } from './shared-plans.ts';
import {
  createDifferencesTold,
  type DifferencesTold,
  isForComplete,
  isNews,
  isWanted,
  type UnsolicitedCheck,
} from './unsolicited-checks.ts';

/** Some agents do not mark the end of a batch of tools. Not every call of such a batch is checked. */
const checkEveryMs = 2_000;
/** Sessions whose scheduled prompts are remembered. Each has a hundred at most, of a thousand characters. */
const schedulesMax = 1_000;
const promptsMax = 100;
/** Workers whose first folders are remembered. Each has 4,096 characters at most, and mostly 60. */
const workersMax = 10_000;

/** `key`: names the call, and is the same in every post of it. Without one, each post is a call of its own. */
export type CallOptions = {
  readonly key?: string | undefined;
  /** The agent does not wait for the answer any more. */
  readonly gone?: AbortSignal;
  /** The list of steps that the session shares with other sessions, as its environment names it. */
  readonly taskList?: string | undefined;
  /** May the caller write to this worker? Default: to all. */
  readonly mayWrite?: (worker: string) => boolean;
  /** Gets the name of each part of the call that could not be read when it was translated. */
  readonly noteUnread?: (what: string) => void;
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
  /**
   * By session: what it last listed as scheduled. A scheduled prompt that comes back is not marked as one by older versions.
   * After a restart the next list fills it again; until then a recurring prompt passes for a person's.
   */
  const scheduled = new Map<string, readonly string[]>();
  /** By session: what it has scheduled by tools. It may be on no list. */
  const added = new Map<string, readonly string[]>();
  /** By worker: the folder in which it began. After a restart it is the one in which it is then. */
  const homes = new Map<string, string | null>();
  const plans = createSharedPlans();
  const told = createDifferencesTold();
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
    if (next.kind === 'stop') {
      const decision = await unwrap(next.decision);
      told.note(call.worker, decision, () => service.judging(call.worker));
      return call.answer(decision);
    }
    if (next.kind === 'command') return call.answerCommand(await obey(service, call.worker, next.command));
    const { check } = next;
    if (!isDue(call.worker, check)) return null;
    const decision = await runCheck(service, told, { worker: call.worker, check, key });
    return decision === null ? null : call.answer(decision, check);
  };
  /**
   * The calls of a worker run one after the other: agents send some at the same time, and changes of a plan have an
   * order. A stop is only submitted there and not awaited: it may be held for minutes, and a prompt must be able to
   * end the hold.
   * @throws AppError what the service throws; agents take any error for "go on"
   */
  return async (call, options = {}) => {
    const next = await mutex.runExclusive(call.worker, () =>
      store(service, { workers, scheduled, added, homes, plans }, call, options),
    );
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
  | { readonly kind: 'command'; readonly command: PersonCommand }
  | { readonly kind: 'ask'; readonly held: HeldRequest };

async function store(
  service: Service,
  { workers, scheduled, added, homes, plans }: Memory,
  call: HookCall,
  { key, taskList, mayWrite = () => true, noteUnread = () => {} }: CallOptions,
): Promise<NextStep | null> {
  const { find, publish } = workers;
  const view = await find(call.worker);
  const known = view === null ? unknownWorker : toPriorWorker(view);
  // The single wake-ups are in the log as background work, with the beginning of their prompts.
  const waits = view?.background.flatMap(({ kind, command }) =>
    kind === 'wakeup' && command !== null ? [command] : [],
  );
  const home = homes.get(call.worker) ?? known.cwd;
  const prior = {
    ...known,
    home,
    scheduled: [scheduled, added].flatMap((of) => of.get(call.worker) ?? []).concat(waits ?? []),
  };
  const { worker, entries, stop, check, ask, immediateAnswer, command, ...rest } = await translate(call, prior);
  remember({ scheduled, added }, call, rest);
  setNewest(homes, worker, folderOf(worker, entries) ?? home, workersMax);
  for (const what of rest.unread) noteUnread(what);
  for (const entry of named(entries, key)) await publish(entry);
  const lists = taskList === undefined ? call.planLists : [...call.planLists, `list ${taskList}`];
  if (call.planLists.length > 0) await shareSteps(workers, plans.join(lists, entries).filter(mayWrite), entries);
  if (command !== null) return { kind: 'command', command };
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
  return now !== null && isWanted(check, now, () => service.judging(worker)) ? { kind: 'check', check } : null;
}

/** The folder in which this call registers the worker. */
const folderOf = (worker: string, entries: readonly WorkerEntry[]): string | undefined =>
  entries
    .filter(({ id, type }) => id === worker && type === 'worker.registered')
    .map(({ data }) => (data as { cwd?: string }).cwd)
    .at(-1);

/** Sub-agents schedule prompts for their session. */
function remember(
  { scheduled, added }: Pick<Memory, 'scheduled' | 'added'>,
  { worker, session }: HookCall,
  { scheduled: listed, schedules: prompt }: Pick<Translation, 'scheduled' | 'schedules'>,
): void {
  if (listed !== null && (listed.length > 0 || scheduled.has(worker)))
    setNewest(scheduled, worker, listed, schedulesMax);
  if (prompt === null) return;
  const known = added.get(session) ?? [];
  setNewest(added, session, [...known.filter((it) => it !== prompt), prompt].slice(-promptsMax), schedulesMax);
}

type Memory = {
  readonly workers: WorkerStore;
  readonly scheduled: Map<string, readonly string[]>;
  readonly added: Map<string, readonly string[]>;
  readonly homes: Map<string, string | null>;
  readonly plans: SharedPlans;
};

/** Gives the steps that have changed the same state in the plans of others. */
async function shareSteps(
  { find, publish }: WorkerStore,
  others: readonly string[],
  entries: readonly WorkerEntry[],
): Promise<void> {
  const statuses = statusesIn(entries);
  if (statuses.length === 0) return;
  for (const id of others) {
    const plan = (await find(id))?.plan ?? [];
    for (const { step, status } of statuses) {
      const isOther = plan.some((it) => it.step === step && it.status !== status);
      if (isOther) await publish({ entity: 'worker', id, type: 'step.updated', data: { step, status } });
    }
  }
}

/** A translation is pure, so it is made again with the links of the folders and files that it asks for. */
async function translate(call: HookCall, prior: PriorWorker): Promise<Translation> {
  const asked = new Set<string>();
  const first = call.translate(prior, (path) => {
    asked.add(path);
    return path;
  });
  if (asked.size === 0) return first;
  const links = await resolveLinks(asked);
  // A path that comes only from resolved ones is resolved itself, but for its last part.
  return call.translate(prior, (path) => links.get(path) ?? path);
}

/** Does what a person has said by a prompt of the session. @returns the answer for the person */
async function obey(service: Service, id: string, command: PersonCommand): Promise<string> {
  if (command.kind === 'status') {
    const view = await service.peek(id, 0);
    return view === null ? 'stopgate: this session is not known yet.' : describeStanding(view);
  }
  try {
    const time = command.kind === 'pause' && command.forMs !== null ? { forMs: command.forMs } : {};
    const { view } = await service.operate(command.kind, { id, by: personAtSession, ...time });
    return describeCommand(command, (view as WorkerView).paused);
  } catch (error) {
    if (error instanceof AppError && error.code === 'entry.refused') return `stopgate: ${error.message}.`;
    throw error;
  }
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
 * must count as completed. The checks run twice for that. An agent that is told what is missing gets the probe, so that
 * no retry is counted. Null: nothing to tell.
 */
async function runCheck(
  service: Service,
  told: DifferencesTold,
  {
    worker,
    check,
    key,
  }: { readonly worker: string; readonly check: UnsolicitedCheck; readonly key: string | undefined },
): Promise<Decision | null> {
  const probed = await service.probe(worker, {}, check === 'step' ? 'step' : 'stop');
  if (isForComplete(check) && told.note(worker, probed, () => service.judging(worker), key)) return probed;
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

/**
 * Serves a hook call: looks up the worker, stores the call's entries and, if the agent waits for an answer, gets it.
 */
import { randomUUID } from 'node:crypto';
import type { Decision, WorkerView } from '../../../machines/index.ts';
import { createKeyedMutex } from '../../concurrency/keyed-mutex.ts';
import { AppError } from '../../errors.ts';
import type { Service } from '../../service/index.ts';
import { setNewest } from '../../set-newest.ts';
import type { HookCall, Translation, WorkerEntry } from '../agent.ts';
import { createDuplicateStops, type DuplicateStops } from './duplicate-stops.ts';
import { resolveLinks } from './links.ts';
import { awaitAnswer, type HeldRequest, storeRequest } from './permission-requests.ts';
import { describeCommand, describeStatus, type PersonCommand, personAtSession } from './person-command.ts';
import { type PriorWorker, toPriorWorker, unknownWorker } from './prior-worker.ts';
import { createSharedPlans, type SharedPlans, statusesIn } from './shared-plans.ts';
import {
  createReportedFindings,
  isCompletionCheck,
  isReportable,
  type ReportedFindings,
  shouldRunCheck,
  type UnsolicitedCheck,
} from './unsolicited-checks.ts';

/** Minimum interval of checks for agents that do not mark the end of a batch of tools. */
const checkEveryMs = 2_000;
/** Sessions whose scheduled prompts are remembered, each with up to 100 prompts of up to 1,000 characters. */
const schedulesMax = 1_000;
const promptsMax = 100;
/** Workers whose first folder is remembered. A folder has up to 4,096 characters, typically 60. */
const workersMax = 10_000;

export type CallOptions = {
  /** Identifies the call across repeated posts. Without it, every post is a new call. */
  readonly key?: string | undefined;
  /** Aborted when the agent stops waiting for the answer. */
  readonly gone?: AbortSignal;
  /** Identifies the set of hooks that makes the call. Calls of two sets about one stop count once. */
  readonly set?: string | undefined;
  /** The step list that the session shares with other sessions, named by its environment. */
  readonly taskList?: string | undefined;
  /** Whether the caller may write to this worker. Default: yes, to all. */
  readonly mayWrite?: (worker: string) => boolean;
  /** Called with the name of each part of the call that could not be read. */
  readonly noteUnread?: (field: string) => void;
};
/** Resolves to null for an empty answer. */
export type HookCallHandler = (call: HookCall, options?: CallOptions) => Promise<object | null>;

/** Called with each request that is held for an operator. `over` aborts when nobody waits for the answer any longer. */
export type OnHeld = (held: HeldRequest, over: AbortSignal) => void;
type Options = {
  /** Monotonic time in milliseconds. */
  readonly stopwatch?: () => number;
  readonly onHeld?: OnHeld;
  /** Resolves links on this machine's disk. */
  readonly links?: ResolveLinks;
};
type ResolveLinks = (paths: ReadonlySet<string>) => Promise<ReadonlyMap<string, string>>;

/** The use cases that a hook call needs. */
export type HookService = Pick<
  Service,
  'peek' | 'publish' | 'decide' | 'probe' | 'operate' | 'judging' | 'untilAnswered'
>;

export function createHookCallHandler(
  service: HookService,
  { stopwatch = () => performance.now(), onHeld = () => {}, links = resolveLinks }: Options = {},
): HookCallHandler {
  const mutex = createKeyedMutex();
  const workers = createWorkerStore(service);
  /**
   * By session: the scheduled prompts that it listed last. Older agent versions do not mark a scheduled prompt when it
   * arrives. After a restart, a recurring prompt counts as a person's until the next list.
   */
  const scheduled = new Map<string, readonly string[]>();
  /** By session: the prompts that it scheduled with tools, which a list may omit. */
  const added = new Map<string, readonly string[]>();
  /** By worker: its first folder. After a restart, its current folder at the next call. */
  const homes = new Map<string, string | null>();
  const plans = createSharedPlans();
  const reported = createReportedFindings();
  const isDue = createPacer(stopwatch);
  const duplicates = createDuplicateStops(stopwatch);
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
      const input = await awaitAnswer(service, next.held, gone, publish).finally(() => over.abort());
      return input === null ? null : call.answerInput(input);
    }
    if (next.kind === 'immediate') return next.answer;
    if (next.kind === 'stop') {
      const decision = await followSuperseding(service, call.worker, await unwrap(next.decision));
      if (decision === null) return null;
      reported.note(call.worker, decision, () => service.judging(call.worker));
      return call.answer(decision);
    }
    if (next.kind === 'command') return call.answerCommand(await runCommand(service, call.worker, next.command));
    const { check } = next;
    if (!isDue(call.worker, check)) return null;
    const decision = await runCheck(service, reported, { worker: call.worker, check, key });
    return decision === null ? null : call.answer(decision, check);
  };
  /**
   * A worker's calls run one at a time: agents send some in parallel, and the order of plan changes matters. Inside the
   * mutex a stop is only submitted, not awaited, because it may be held for minutes and a prompt must be able to end
   * that.
   * @throws AppError whatever the service throws. Agents treat any error as "continue".
   */
  return async (call, options = {}) => {
    const next = await mutex.runExclusive(call.worker, () =>
      store(service, { workers, scheduled, added, homes, plans, links, duplicates }, call, options),
    );
    return answer(call, next, options);
  };
}

const never = new AbortController().signal;

/** What remains to be done after the call's entries are stored. */
type NextStep =
  | { readonly kind: 'immediate'; readonly answer: object }
  /** Wrapped in an object, so that the mutex does not await the promise. */
  | { readonly kind: 'stop'; readonly decision: Promise<Decision | Error> }
  | { readonly kind: 'check'; readonly check: UnsolicitedCheck }
  | { readonly kind: 'command'; readonly command: PersonCommand }
  | { readonly kind: 'ask'; readonly held: HeldRequest };

async function store(
  service: HookService,
  { workers, scheduled, added, homes, plans, links, duplicates }: HandlerState,
  call: HookCall,
  { key, set, taskList, mayWrite = () => true, noteUnread = () => {} }: CallOptions,
): Promise<NextStep | null> {
  const { find, publish } = workers;
  const view = await find(call.worker);
  const known = view === null ? unknownWorker : toPriorWorker(view);
  // One-time wake-ups are in the log as background work, with the beginning of their prompts.
  const wakeUps = view?.background.flatMap(({ kind, command }) =>
    kind === 'wakeup' && command !== null ? [command] : [],
  );
  const home = homes.get(call.worker) ?? known.cwd;
  const prior = {
    ...known,
    home,
    scheduled: [scheduled, added].flatMap((prompts) => prompts.get(call.worker) ?? []).concat(wakeUps ?? []),
  };
  const { worker, entries, stop, check, ask, immediateAnswer, command, ...rest } = await translate(call, prior, links);
  rememberScheduled({ scheduled, added }, call, rest);
  setNewest(homes, worker, folderOf(worker, entries) ?? home, workersMax);
  for (const field of rest.unread) noteUnread(field);
  if (entries.some(isWork)) duplicates.noteWork(worker);
  for (const entry of withMessageIds(entries, key)) await publish(entry);
  const lists = taskList === undefined ? call.planLists : [...call.planLists, `list ${taskList}`];
  if (call.planLists.length > 0) await shareSteps(workers, plans.join(lists, entries).filter(mayWrite), entries);
  if (command !== null) return { kind: 'command', command };
  if (stop !== null) {
    const id = key ?? randomUUID();
    const attempt = duplicates.attemptFor({
      worker,
      set: set === undefined ? undefined : `${call.program} ${set}`,
      kind: stop.stopReason ?? '',
      id,
    });
    return { kind: 'stop', decision: decide(service, worker, { attempt, ...stop }) };
  }
  if (immediateAnswer !== null) return { kind: 'immediate', answer: immediateAnswer };
  if (check === null && ask === null) return null;
  // A registration may have changed the policy.
  const now = prior.registered ? view : await find(worker);
  const rules = now?.rules;
  if (ask !== null) {
    const held = await storeRequest(worker, ask, rules?.askMs ?? null, publisherFor(workers, worker));
    return held === null ? null : { kind: 'ask', held };
  }
  if (check === null) return null;
  return now !== null && shouldRunCheck(check, now, () => service.judging(worker)) ? { kind: 'check', check } : null;
}

/** True for an entry that shows that the agent has continued since its last stop. */
const isWork = ({ type }: WorkerEntry): boolean => ['prompt.submitted', 'tool.started', 'tool.used'].includes(type);

/** The folder with which these entries register the worker. */
const folderOf = (worker: string, entries: readonly WorkerEntry[]): string | undefined =>
  entries
    .filter(({ id, type }) => id === worker && type === 'worker.registered')
    .map(({ data }) => (data as { cwd?: string }).cwd)
    .at(-1);

/** A prompt that a sub-agent schedules belongs to its session. */
function rememberScheduled(
  { scheduled, added }: Pick<HandlerState, 'scheduled' | 'added'>,
  { worker, session }: HookCall,
  { scheduled: listed, schedules: prompt }: Pick<Translation, 'scheduled' | 'schedules'>,
): void {
  if (listed !== null && (listed.length > 0 || scheduled.has(worker)))
    setNewest(scheduled, worker, listed, schedulesMax);
  if (prompt === null) return;
  const known = added.get(session) ?? [];
  setNewest(added, session, [...known.filter((other) => other !== prompt), prompt].slice(-promptsMax), schedulesMax);
}

type HandlerState = {
  readonly workers: WorkerStore;
  readonly scheduled: Map<string, readonly string[]>;
  readonly added: Map<string, readonly string[]>;
  readonly homes: Map<string, string | null>;
  readonly plans: SharedPlans;
  readonly links: ResolveLinks;
  readonly duplicates: DuplicateStops;
};

/** Copies changed step states to the plans of workers that share the list. */
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
      const isOutdated = plan.some((other) => other.step === step && other.status !== status);
      if (isOutdated) await publish({ entity: 'worker', id, type: 'step.updated', data: { step, status } });
    }
  }
}

/** Translation is pure, so run it once to collect the paths that it needs, resolve their links, and run it again. */
async function translate(call: HookCall, prior: PriorWorker, resolve: ResolveLinks): Promise<Translation> {
  const paths = new Set<string>();
  const first = call.translate(prior, (path) => {
    paths.add(path);
    return path;
  });
  if (paths.size === 0) return first;
  const links = await resolve(paths);
  // The second run may ask for new paths. Their folders are resolved already.
  return call.translate(prior, (path) => links.get(path) ?? path);
}

/** Executes a command that a person typed as a prompt. @returns the answer for the person */
async function runCommand(service: HookService, id: string, command: PersonCommand): Promise<string> {
  if (command.kind === 'status') {
    const view = await service.peek(id, 0);
    return view === null ? 'stopgate: this session is not known yet.' : describeStatus(view);
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

/** Message ids count per type, because a repeated post may have fewer entries, for example no registration. */
function withMessageIds(entries: readonly WorkerEntry[], key: string | undefined): readonly WorkerEntry[] {
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
 * Runs a check and returns the decision for the agent, or null if there is nothing to report. Missing work is reported
 * from the probe, so that no retry is counted. Telling the agent to stop takes a real decision, although the checks
 * then run twice: the agent may end without another call, and its task must count as completed.
 */
async function runCheck(
  service: HookService,
  reported: ReportedFindings,
  {
    worker,
    check,
    key,
  }: { readonly worker: string; readonly check: UnsolicitedCheck; readonly key: string | undefined },
): Promise<Decision | null> {
  const probed = await service.probe(worker, {}, check === 'step' ? 'step' : 'stop');
  if (isCompletionCheck(check) && reported.note(worker, probed, () => service.judging(worker), key)) return probed;
  if (!isReportable(check, probed)) return null;
  if (!isCompletionCheck(check)) return probed;
  const decided = await service.decide(worker, { attempt: key ?? randomUUID(), stopReason: 'complete' });
  return isReportable(check, decided) ? decided : null;
}

function createPacer(stopwatch: () => number): (worker: string, check: UnsolicitedCheck) => boolean {
  const checkedMs = new Map<string, number>();
  return (worker, check) => {
    if (check !== 'complete-throttled') return true;
    const now = stopwatch();
    // A Map iterates in insertion order, oldest first.
    for (const [other, at] of checkedMs) {
      if (now - at < checkEveryMs) break;
      checkedMs.delete(other);
    }
    if (checkedMs.has(worker)) return false;
    checkedMs.set(worker, now);
    return true;
  };
}

/** Returns errors as values, because the promise may reject before it is awaited. */
async function decide(service: HookService, worker: string, body: object): Promise<Decision | Error> {
  try {
    return await service.decide(worker, body);
  } catch (error) {
    return error as Error;
  }
}

/** A newer attempt may be superseded too. An agent that keeps asking gets an empty answer. */
const followsMax = 20;

/**
 * Returns the decision of the newest attempt for a stop that was superseded. Resolves to null if a prompt superseded
 * the stop, because the agent then continues with the prompt.
 */
async function followSuperseding(service: HookService, worker: string, first: Decision): Promise<Decision | null> {
  let decision = first;
  for (let count = 0; decision.cause === 'superseded'; count += 1) {
    const view = await service.peek(worker, 0);
    const newest = view?.attempt?.attempt ?? view?.lastDecision?.attempt;
    if (newest === undefined || newest === null || newest === decision.attempt || count === followsMax) return null;
    decision = await service.decide(worker, { attempt: newest });
  }
  return decision;
}

async function unwrap(decision: Promise<Decision | Error>): Promise<Decision> {
  const answer = await decision;
  if (answer instanceof Error) throw answer;
  return answer;
}

type WorkerStore = {
  readonly find: (worker: string) => Promise<WorkerView | null>;
  /** @returns the entry's sequence number in the log */
  readonly publish: (entry: WorkerEntry) => Promise<number>;
};

const publisherFor =
  ({ publish }: WorkerStore, worker: string) =>
  (type: string, data: object): Promise<number> =>
    publish({ entity: 'worker', id: worker, type, data });

/** Reads reflect what earlier calls stored through this replica. Entries of other replicas are not waited for. */
function createWorkerStore(service: HookService): WorkerStore {
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

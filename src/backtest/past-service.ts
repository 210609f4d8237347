/**
 * The service of a backtest: folds the entries of one session in memory, under given policies, with the times of the
 * past. Nothing is run, stored or sent.
 *
 * A command cannot be run in the past. When a stop waits for such a check, it is judged twice, as if all of these
 * checks passed and as if all failed. If both give the same answer, that is the answer. Otherwise the stop is not
 * judged. No check can turn a failure into a pass, so these two cases bound all others.
 */
import {
  type AwaitedCheck,
  advanceClock,
  builtInPolicy,
  copyFleet,
  createFleet,
  type Decision,
  type Entry,
  type Fleet,
  foldEntry,
  nextDeadline,
  type PolicySet,
  readEntry,
  viewWorker,
} from '../../machines/index.ts';
import type { HookService } from '../agents/index.ts';
import { AppError } from '../errors.ts';
import { judgingOf } from '../service/session-policy.ts';
import type { PastStop } from './past-stop.ts';

export type PastService = HookService & {
  /** Moves the clock to the time of the next call. It never goes back. */
  setTime(atMs: number | null): void;
  /** Publishes an entry that no hook call leads to, such as usage. */
  add(subject: string, data: object): void;
  /** The stop that was judged since the last call, or null. */
  takeStop(): PastStop | null;
  /** The entries about workers since the last call. */
  takeEntries(): readonly Entry[];
};

const fleetName = 'backtest';

/** Deadlines until a held stop is decided. Each pass fires at least one, and a worker has few. */
const deadlinesMax = 1_000;

/** Maximum checks that one stop can wait for, including members of groups. No policy allows as many. */
const checksMax = 10_000;

export function createPastService(policies: PolicySet): PastService {
  const fleet = createFleet(fleetName, { policies });
  let seq = 0;
  let nowMs = 0;
  let stop: PastStop | null = null;
  let entries: Entry[] = [];

  function add(subject: string, data: object): void {
    seq += 1;
    const entry = toEntry(subject, data);
    entries.push(entry);
    foldEntry(fleet, { seq, atMs: nowMs, entry });
  }

  function decide(worker: string, body: object): Decision {
    seq += 1;
    const entry = toEntry(`worker.${worker}.stop.attempted`, body);
    const { outcomes } = foldEntry(fleet, { seq, atMs: nowMs, entry });
    const view = viewWorker(fleet, worker, fleet.nowMs);
    const policy = view?.policy ?? '';
    const hasDollarBudget = view?.budgets.some(({ kind }) => kind === 'usd') ?? false;
    const onBudget = (fleet.policies.policies.get(policy) ?? builtInPolicy).onBudget;
    const needsDollars = (decision: Decision) => hasDollarBudget && dependsOnBudget(decision, onBudget);
    const decided = outcomes.find((outcome) => outcome.kind === 'decided');
    if (decided !== undefined) {
      const { decision } = decided;
      stop = { decision, policy, missing: [], isJudged: true, needsDollars: needsDollars(decision) };
      return decision;
    }
    const ifAllFail = copyFleet(fleet);
    const missing = new Set<string>();
    const decision = settle(fleet, worker, 'pass', missing);
    const other = missing.size === 0 ? decision : settle(ifAllFail, worker, 'fail', missing);
    const isJudged = answerOf(decision) === answerOf(other);
    stop = { decision, policy, missing: [...missing], isJudged, needsDollars: needsDollars(decision) };
    return decision;
  }

  return {
    setTime(atMs) {
      nowMs = Math.max(nowMs, fleet.nowMs, atMs ?? 0);
    },
    add,
    takeStop() {
      const taken = stop;
      stop = null;
      return taken;
    },
    takeEntries() {
      const taken = entries;
      entries = [];
      return taken;
    },
    peek: (worker) => Promise.resolve(viewWorker(fleet, worker, Math.max(nowMs, fleet.nowMs))),
    publish({ entity, id, type, data }) {
      add(`${entity}.${id}.${type}`, data as object);
      return Promise.resolve({ seq });
    },
    decide: (worker, body) => Promise.resolve(decide(worker, body as object)),
    operate(action, body) {
      const { id, ...data } = body as { id: string };
      if (action !== 'pause' && action !== 'unpause') throw new AppError('input.bad', `no ${action} in a backtest`);
      add(`own.worker.${id}.worker.${action}d`, data);
      const view = viewWorker(fleet, id, fleet.nowMs);
      if (view === null) throw new AppError('actor.unknown', `no worker ${id}`);
      return Promise.resolve({ seq, view });
    },
    judging: (worker) => judgingOf(fleet, worker),
    // Transcripts hold neither the calls that lead to a probe nor the requests that an operator answers.
    probe: () => Promise.reject(new AppError('input.bad', 'a backtest answers no probes')),
    untilAnswered: () => Promise.resolve(null),
  };

  /** Answers the checks of the open attempt until it is decided. */
  function settle(copy: Fleet, worker: string, outcome: 'pass' | 'fail', missing: Set<string>): Decision {
    let lastSeq = seq;
    for (let count = 0; count < checksMax; count += 1) {
      const attempt = copy.workers.read(worker)?.snapshot.context.worker.attempt ?? null;
      if (attempt?.pending == null) break;
      const { pending } = attempt;
      missing.add(pending.name);
      lastSeq += 1;
      const entry = answerTo(worker, attempt.attempt, pending, outcome);
      const { outcomes } = foldEntry(copy, { seq: lastSeq, atMs: copy.nowMs, entry });
      const decided = outcomes.find((each) => each.kind === 'decided');
      if (decided !== undefined) {
        seq = Math.max(seq, lastSeq);
        return decided.decision;
      }
    }
    seq = Math.max(seq, lastSeq);
    // The stop is held. No work arrives in the past, so the stop is decided when its hold ends.
    for (let count = 0; count < deadlinesMax; count += 1) {
      const deadline = nextDeadline(copy);
      if (deadline === null) break;
      const { outcomes } = advanceClock(copy, deadline.atMs);
      const decided = outcomes.find((each) => each.kind === 'decided' && each.decision.worker === worker);
      if (decided?.kind === 'decided') return decided.decision;
    }
    throw new Error(`the stop of ${worker} was never decided`);
  }
}

const answerTo = (worker: string, attempt: string, { name, number }: AwaitedCheck, outcome: 'pass' | 'fail'): Entry =>
  toEntry(`own.worker.${worker}.check.finished`, { attempt, check: name, number, outcome });

function toEntry(subject: string, data: object): Entry {
  const text = JSON.stringify(data);
  const entry = readEntry(`stopgate.${fleetName}.${subject}`, text, Buffer.byteLength(text));
  if (entry === null || !('data' in entry))
    throw new AppError('input.bad', entry === null ? `${subject} is no entry` : entry.message);
  return entry;
}

const answerOf = ({ decision, action, cause }: Decision): string => `${decision} ${action} ${cause}`;

/** Tells whether a used-up budget would have changed the answer. Guards before it decide without it (protocol.md §5). */
function dependsOnBudget(decision: Decision, onBudget: 'allow' | 'escalate'): boolean {
  const guard = decision.verdicts.at(-1)?.guard;
  if (guard === 'retired' || guard === 'escalated') return false;
  return answerOf(decision) !== (onBudget === 'escalate' ? 'allow escalate budget' : 'allow complete bypassed');
}

/**
 * Reads the timeline of a task: its own entries, and those of the workers that held it from the claim to the end of the
 * hold. No entry says when a hold ends: a decision, a stale worker or an operator may end it, so it is derived.
 */
import { type Decision, readJson, topicOf } from '../../machines/index.ts';
import { dispositionOf, losesTasks } from '../../machines/worker/decide.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import type { LogMessage } from '../nats/log/log-reader.ts';
import type { TimelinePage } from './messages.ts';
import { subjectsOf, timelineEntry } from './timeline.ts';

/** The task now. `movedMs`: when it entered its state. */
export type TaskNow = { readonly id: string; readonly worker: string | null; readonly movedMs: number };

type Log = Pick<EventLog, 'newest'>;
/** `toSeq` is the last entry of the hold, unless that is given by its time `untilMs`. */
type Hold = { readonly worker: string; readonly fromSeq: number; readonly toSeq: number; readonly untilMs: number };

/**
 * Claims and releases of all tasks that are read to find those of one. A page that begins further back reads others.
 */
const claimsMax = 5_000;
/** Holds whose entries a page reads. A page rarely needs more than one. */
const holdsMax = 10;
/** Decisions read to find the end of a hold. Each has some kilobytes. */
const decisionsMax = 200;
/** A worker holds few tasks at once, so its hold has ended before it claims this many others. */
const claimsWithin = 8;
const decoder = new TextDecoder();

/** Reads the newest `limit` entries before entry `before`. Null reads from the end of the log. */
export async function readTaskTimeline(
  log: Log,
  fleet: string,
  task: TaskNow,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<TimelinePage> {
  const moves = await log.newest(`stopgate.${fleet}.worker.*.task.*`, claimsMax, before);
  const { holds, decision } = await findHolds(log, fleet, task, moves, before);
  const own = subjectsOf(fleet, { entity: 'task', id: task.id }).map((subject) => log.newest(subject, limit, before));
  const held = holds.map((hold) => readHold(log, fleet, hold, { before, limit }));
  const claims = moves.filter((message) => taskOf(message) === task.id);
  const found = [...(await Promise.all([...own, ...held])).flat(), ...claims];
  const messages = [...new Map(found.map((message) => [message.seq, message])).values()].sort((a, b) => a.seq - b.seq);
  const page = messages.slice(-limit);
  const readFrom = moves.length < claimsMax ? null : (moves[0]?.seq ?? null);
  return {
    entries: page.map(timelineEntry).filter((entry) => entry !== null),
    before: messages.length < limit ? readFrom : (page[0]?.seq ?? null),
    decision: decision === null ? null : timelineEntry(decision),
  };
}

/** @returns the newest holds, and the newest decision about the task */
async function findHolds(
  log: Log,
  fleet: string,
  task: TaskNow,
  moves: readonly LogMessage[],
  before: number | null,
): Promise<{ readonly holds: readonly Hold[]; readonly decision: LogMessage | null }> {
  const claims = moves.filter((message) => isClaim(message) && taskOf(message) === task.id).slice(-holdsMax);
  const found = await Promise.all(
    claims.map(async (claim, index): Promise<Claimed> => {
      const { id: worker } = topicOf(claim.subject);
      const later = claims.slice(index + 1).find((message) => topicOf(message.subject).id === worker);
      const others = moves.filter(
        (move) => move.seq > claim.seq && isClaim(move) && topicOf(move.subject).id === worker,
      );
      const end = Math.min(later?.seq ?? Infinity, others[claimsWithin]?.seq ?? Infinity, before ?? Infinity);
      const decided = await log.newest(
        `stopgate.${fleet}.decision.${worker}`,
        decisionsMax,
        Number.isFinite(end) ? end : null,
      );
      const decisions = decided.filter((message) => message.seq > claim.seq && isAbout(message, task.id));
      const given = moves.filter(
        (move) =>
          move.seq > claim.seq && move.seq < end && topicOf(move.subject).id === worker && taskOf(move) === task.id,
      );
      const last = [claim, ...decisions, ...given].reduce((a, b) => (b.seq > a.seq ? b : a));
      return { claim, last, decisions };
    }),
  );
  const accepted = found.filter((claimed) => !isRefused(task, claimed, found));
  const decisions = found.flatMap((each) => each.decisions);
  return {
    holds: accepted.map(({ claim, last }, index) => holdOf(task, claim, last, index === accepted.length - 1)),
    decision: decisions.length === 0 ? null : decisions.reduce((a, b) => (b.seq > a.seq ? b : a)),
  };
}

/** `last` is the last entry of the worker that names the task, before it claims the task again. */
type Claimed = { readonly claim: LogMessage; readonly last: LogMessage; readonly decisions: readonly LogMessage[] };

/** Whether a task was claimed while another worker held it. That worker then names it later, or holds it now. */
function isRefused({ worker: holder }: TaskNow, { claim }: Claimed, all: readonly Claimed[]): boolean {
  const workerOf = (claimed: Pick<Claimed, 'claim'>) => topicOf(claimed.claim.subject).id;
  const held = all.findLast((other) => workerOf(other) === holder);
  return all.some(
    (other) =>
      other.claim.seq < claim.seq &&
      workerOf(other) !== workerOf({ claim }) &&
      (other === held || other.last.seq > claim.seq),
  );
}

/** @param isNewest nobody has claimed it since */
function holdOf(task: TaskNow, claim: LogMessage, last: LogMessage, isNewest: boolean): Hold {
  const { id: worker } = topicOf(claim.subject);
  const hold = { worker, fromSeq: claim.seq, toSeq: last.seq, untilMs: Infinity };
  if (!isNewest) return hold;
  if (task.worker === worker) return { ...hold, toSeq: Infinity };
  // Nothing that the worker did ended the hold: it fell silent, or an operator took the task away.
  return endsHold(last) ? hold : { ...hold, toSeq: Infinity, untilMs: task.movedMs };
}

async function readHold(
  log: Log,
  fleet: string,
  { worker, fromSeq, toSeq, untilMs }: Hold,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<LogMessage[]> {
  const end = Math.min(before ?? Infinity, toSeq + 1);
  if (end <= fromSeq) return [];
  const read = (subject: string) => log.newest(subject, limit, Number.isFinite(end) ? end : null);
  const parts = await Promise.all(subjectsOf(fleet, { entity: 'worker', id: worker }).map(read));
  return parts.flat().filter(({ seq, atMs }) => seq >= fromSeq && atMs <= untilMs);
}

const isClaim = ({ subject }: LogMessage): boolean => topicOf(subject).type === 'task.claimed';

function endsHold(message: LogMessage): boolean {
  const { type } = topicOf(message.subject);
  return type === 'decision' ? losesTasks(dispositionOf(fieldsOf(message) as unknown as Decision)) : !isClaim(message);
}

const taskOf = (message: LogMessage): unknown => fieldsOf(message).task;

function isAbout(message: LogMessage, task: string): boolean {
  const { tasks } = fieldsOf(message);
  return Array.isArray(tasks) && tasks.includes(task);
}

function fieldsOf({ data }: LogMessage): Readonly<Record<string, unknown>> {
  const read = readJson(decoder.decode(data));
  return read.ok && typeof read.value === 'object' && read.value !== null
    ? (read.value as Record<string, unknown>)
    : {};
}

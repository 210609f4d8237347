/**
 * Remote checks and hooks (protocol.md §8): the question, which is what the fold knows of the worker, its task and its
 * attempt; the request to `stopgate.<fleet>.check.<name>`; and what its reply means.
 */
import {
  type AttemptFields,
  cutMiddle,
  type Evaluation,
  type Fleet,
  type PendingCheck,
  promisesOf,
  type WorkerContext,
} from '../../../machines/index.ts';
import { phaseOf } from '../../../machines/task/records.ts';
import { AppError } from '../../errors.ts';
import type { Bus } from '../../nats/bus.ts';
import { sleep as sleepUntil } from '../../timer.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { subject } from '../own-entries.ts';
import { askUntilResult, type CheckReply, type RunResult, readCheckReply } from './check-reply.ts';
import { marginMs } from './workspace-check.ts';

export type RemoteOptions = {
  readonly fleet: Fleet;
  readonly bus: Pick<Bus, 'request' | 'payloadBytesMax'>;
  readonly lifecycle: Pick<Lifecycle, 'isRunning'>;
  readonly logClock: Pick<LogClock, 'now'>;
};

/** A request to a remote check. */
export type RemoteCall = {
  readonly timeoutMs: number;
  /** When the log's clock ends it. */
  readonly deadlineMs: number;
  /** Aborted: nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** It has no result yet, and is asked again at `askedAgainMs` of the log's clock. */
  readonly onPending?: (reason: string | null, askedAgainMs: number) => void;
};

/**
 * Asks until the check has a result, or its time is up. After a pending reply a missing responder is tolerated: it may be
 * restarting.
 * @throws AppError service.unreachable: nobody serves it, or no reply in time; check.failed: its server failed
 */
export async function askRemote(
  options: RemoteOptions,
  name: string,
  question: object,
  { timeoutMs, deadlineMs, signal, onPending = () => {} }: RemoteCall,
): Promise<RunResult> {
  const { bus, lifecycle, logClock } = options;
  const target = subject(options, `check.${name}`);
  const payload = toPayload(question, bus.payloadBytesMax());
  const leftMs = () => deadlineMs - marginMs(timeoutMs) - logClock.now();
  const aborted = sleepUntil(null, signal);
  return askUntilResult({ lifecycle, logClock, leftMs, signal, onPending }, timeoutMs, async (waitMs, last) => {
    const asked = bus.request(target, payload, waitMs).then((text) => readReply(name, text));
    // A cancelled check holds nothing while its reply is still out.
    const reply = await Promise.race([last === null ? asked : asked.catch(unlessUnreachable(last)), aborted]);
    return reply ?? null;
  });
}

/** A server that is away for a moment has replied nothing new. */
const unlessUnreachable = (last: CheckReply) => (error: unknown) => {
  if (error instanceof AppError && error.code === 'service.unreachable') return last;
  throw error;
};

function readReply(name: string, text: string): CheckReply {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return { outcome: 'error', reason: `check ${name} replied with invalid JSON` };
  }
  return readCheckReply(reply) ?? { outcome: 'error', reason: `check ${name} replied in an unknown form` };
}

/** About a worker that wants to stop. A hook is asked about its own task, a check about the one that was claimed last. */
export function questionOf(fleet: Fleet, worker: WorkerContext, attempt: string, pending: PendingCheck): object {
  const task = pending.by === 'hooks' ? pending.task : (worker.tasks.at(-1) ?? null);
  return question(fleet, { worker, task, attempt, fields: worker.attempt?.fields ?? {} });
}

/** About an iteration that is validated. Its task need not be held by a worker. */
export function questionOfIteration(fleet: Fleet, task: string, { attempt, fields, iteration }: Evaluation): object {
  const holder = fleet.tasks.get(task)?.snapshot.context.worker ?? null;
  const worker = holder === null ? null : (fleet.workers.get(holder)?.snapshot.context.worker ?? null);
  return { ...question(fleet, { worker, task, attempt, fields }), iteration: iteration.iteration };
}

type Subject = {
  readonly worker: WorkerContext | null;
  readonly task: string | null;
  readonly attempt: string;
  readonly fields: AttemptFields;
};

function question({ tasks }: Fleet, { worker, task, attempt, fields }: Subject): object {
  const held = task === null ? undefined : tasks.get(task)?.snapshot.context;
  const detected = [...promisesOf(fields)].map((type) => ({
    type,
    detected: true,
    content: `<promise>${type}</promise>`,
  }));
  return {
    worker: worker?.worker ?? null,
    task,
    attempt,
    stopReason: fields.stopReason ?? null,
    toolCount: fields.toolCount ?? worker?.toolCount ?? 0,
    retryCount: worker?.retryCount ?? 0,
    iteration: held?.iteration?.iteration ?? null,
    phase: held === undefined ? null : phaseOf(held),
    filesModified: [...new Set([...(worker?.files ?? []), ...(fields.files ?? [])])],
    validationResults: fields.validation ?? [],
    completionPromises: fields.promises ?? detected,
    agentOutput: fields.output ?? null,
    draftContent: fields.draft?.content ?? null,
    draftType: fields.draft?.type ?? null,
    cwd: worker?.cwd ?? null,
    plan: worker?.plan ?? held?.plan ?? [],
  };
}

/** Ids have 128 characters at most, so no cut ever touches one. */
const textLengthMin = 128;
const firstLengthMax = 65_536;

/** The request body as JSON. One that is too large for a message is shortened, and marked `truncated`. */
export function toPayload(question: object, bytesMax: number): string {
  let payload = JSON.stringify(question);
  for (let max = firstLengthMax; Buffer.byteLength(payload) > bytesMax && max >= 1; max /= 2)
    payload = JSON.stringify({ ...(shorten(question, max) as object), truncated: true });
  return payload;
}

/** Lists keep their first `max` members, texts their beginning and end. */
function shorten(value: unknown, max: number): unknown {
  if (typeof value === 'string') return cutMiddle(value, Math.max(max, textLengthMin));
  if (Array.isArray(value)) return value.slice(0, max).map((each) => shorten(each, max));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shorten(each, max)]));
}

/**
 * Remote checks and hooks (protocol.md §8): builds the question from the folded worker, task and attempt, sends it to
 * `stopgate.<fleet>.check.<name>`, and reads the reply.
 */
import {
  type AttemptFields,
  type AwaitedCheck,
  cutMiddle,
  type Evaluation,
  type Fleet,
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
  /** The time of the log's clock at which the check times out. */
  readonly deadlineMs: number;
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal;
  /** Called when the check is pending. It is asked again at `askedAgainMs` of the log's clock. */
  readonly onPending?: (reason: string | null, askedAgainMs: number) => void;
};

/**
 * Asks until the check has a result or times out. After a `pending` reply, tolerates a missing responder, which may be
 * restarting.
 * @throws AppError service.unreachable if nobody serves the check or no reply comes in time; check.failed if its server
 * fails
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
    const answer = bus.request(target, payload, waitMs).then((text) => readReply(name, text));
    // A cancelled check ends at once, not when its reply comes.
    const reply = await Promise.race([last === null ? answer : answer.catch(unlessUnreachable(last)), aborted]);
    return reply ?? null;
  });
}

/** Keeps the last pending reply while the check's server is away. */
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

/**
 * Builds the question about a worker that wants to stop. A hook is asked about its own task, a check about the last
 * claimed one.
 */
export function questionOf(fleet: Fleet, worker: WorkerContext, attempt: string, awaited: AwaitedCheck): object {
  const task = awaited.by === 'hooks' ? awaited.task : (worker.tasks.at(-1) ?? null);
  return question(fleet, { worker, task, attempt, fields: worker.attempt?.fields ?? {} });
}

/** Builds the question about a validated iteration. Its task need not be held by a worker. */
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

/** Ids have at most 128 characters, so they are never cut. */
const textLengthMin = 128;
const firstLengthMax = 65_536;

/** Returns the question as JSON. A question that is too large is shortened and marked `truncated`. */
export function toPayload(question: object, bytesMax: number): string {
  let payload = JSON.stringify(question);
  for (let max = firstLengthMax; Buffer.byteLength(payload) > bytesMax && max >= 1; max /= 2)
    payload = JSON.stringify({ ...(shorten(question, max) as object), truncated: true });
  return payload;
}

/** Lists keep their first `max` items, texts their beginning and end. */
function shorten(value: unknown, max: number): unknown {
  if (typeof value === 'string') return cutMiddle(value, Math.max(max, textLengthMin));
  if (Array.isArray(value)) return value.slice(0, max).map((each) => shorten(each, max));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shorten(each, max)]));
}

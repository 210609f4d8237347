/**
 * Remote checks and hooks (protocol.md §8): the question, which is what the fold knows of the worker, its task and its
 * attempt; the request to `stopgate.<fleet>.check.<name>`; and what its reply means.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
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
import type { Life } from '../life.ts';
import { subject } from '../own-entries.ts';
import { type JudgedWork, marginMs, type RunResult } from './workspace-check.ts';

/** Any form of reply (protocol.md §8). `retryAfterMs`: when to ask again. */
const replySchema = z.union([
  z.object({ pending: z.literal(true), reason: z.string().optional(), retryAfterMs: z.number().optional() }),
  z.object({ complete: z.boolean(), reason: z.string().optional(), feedback: z.unknown().optional() }),
  z.object({
    action: z.enum(['complete', 'continue', 'escalate']),
    reason: z.string().optional(),
    nextPrompt: z.string().optional(),
    checkpointData: z.unknown().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  }),
]);

export type RemoteOptions = {
  readonly fleet: Fleet;
  readonly bus: Pick<Bus, 'request' | 'payloadBytesMax'>;
  readonly life: Pick<Life, 'isRunning'>;
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

/** A check that waits for something else, as a pipeline, should not be asked more often, nor be forgotten. */
const retryMs = { min: 1_000, default: 10_000, max: 600_000 };

/**
 * Asks until the check has a result, or its time is up. Once it has said that it has no result yet, a moment without a
 * server changes nothing: it may be restarting.
 * @throws AppError service.unreachable: nobody serves it, or no reply in time; check.failed: its server failed
 */
export async function askRemote(
  options: RemoteOptions,
  name: string,
  question: object,
  { timeoutMs, deadlineMs, signal, onPending = () => {} }: RemoteCall,
): Promise<RunResult> {
  const { bus, life, logClock } = options;
  const startedMs = performance.now();
  const tookMs = () => Math.round(performance.now() - startedMs);
  const target = subject(options, `check.${name}`);
  const payload = toPayload(question, bus.payloadBytesMax());
  const leftMs = () => deadlineMs - marginMs(timeoutMs) - logClock.now();
  const cancelled = (): RunResult => ({ outcome: 'error', reason: 'cancelled', tookMs: tookMs() });
  const aborted = sleepUntil(null, signal);
  let pending: Pending | null = null;
  for (let waitMs = timeoutMs; waitMs > 0; waitMs = leftMs()) {
    const asked = bus.request(target, payload, waitMs);
    // What is cancelled holds nothing while the reply is still out.
    const text = await Promise.race([pending === null ? asked : asked.catch(awayFor(pending)), aborted]);
    if (text === undefined) return cancelled();
    const reply = readReply(name, text);
    if (!('pending' in reply)) return { tookMs: tookMs(), ...reply };
    pending = reply;
    const pauseMs = Math.min(Math.max(retryMs.min, reply.retryAfterMs ?? retryMs.default), retryMs.max);
    onPending(reply.reason?.slice(0, reasonLengthMax) ?? null, logClock.now() + pauseMs);
    await sleep(Math.min(pauseMs, Math.max(0, leftMs())), undefined, { ref: false, signal }).catch(() => {});
    if (signal.aborted || !life.isRunning()) return cancelled();
  }
  const reason = pending?.reason === undefined ? 'still pending' : `still pending: ${pending.reason}`;
  return { outcome: 'timeout', reason, tookMs: tookMs() };
}

/** For a view; the result has the whole reason. */
const reasonLengthMax = 500;

/** The reply of a server that is away for a moment: still the last one. */
const awayFor = (pending: Pending) => (error: unknown) => {
  if (error instanceof AppError && error.code === 'service.unreachable') return JSON.stringify(pending);
  throw error;
};

type Pending = { readonly pending: true; readonly reason?: string; readonly retryAfterMs?: number };

function readReply(name: string, text: string): Pending | RunResult {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return { outcome: 'error', reason: `check ${name} replied with invalid JSON` };
  }
  const { data } = replySchema.safeParse(reply);
  if (data === undefined) return { outcome: 'error', reason: `check ${name} replied in an unknown form` };
  if ('pending' in data) return definedIn(data) as Pending;
  if ('complete' in data) {
    const { complete, ...rest } = data;
    return { outcome: complete ? 'pass' : 'fail', ...definedIn(rest) };
  }
  return { outcome: data.action === 'complete' ? 'pass' : 'fail', ...definedIn(data) };
}

const definedIn = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>;

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

/** The work of a worker, as a judge is shown it beside the changes in its folder. */
export function workOf({ tasks }: Fleet, worker: WorkerContext): JudgedWork {
  const fields = worker.attempt?.fields ?? {};
  return {
    tasks: worker.tasks.map((task) => ({ task, title: tasks.get(task)?.snapshot.context.title ?? null })),
    plan: worker.plan.map(({ title, status }) => ({ title, status })),
    filesModified: [...new Set([...worker.files, ...(fields.files ?? [])])],
    validation: fields.validation ?? [],
    stopReason: fields.stopReason ?? null,
    lastWords: fields.output ?? null,
    draft: fields.draft?.content ?? null,
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

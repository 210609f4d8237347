/**
 * Runs `command`, `files` and `git` checks, on the runner inside this service (`src/runner` implements `RunCheck`) or
 * on the remote one that the policy names.
 */
import { z } from 'zod';
import { entrySchemas, type Fleet, type WorkerContext } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Bus } from '../../nats/bus.ts';
import { subject } from '../own-entries.ts';
import { type CheckReply, omitUndefined, type RunResult } from './check-reply.ts';
import { formatRunRequest, type RunRequest } from './run-request.ts';

/** The runner inside the service. Calls `onStarted` when the check has a slot and its timeout starts. */
export type RunCheck = (request: RunRequest, signal: AbortSignal, onStarted: () => void) => Promise<CheckReply>;

/** Sends requests to remote checks and runners. */
export type RemoteBus = Pick<Bus, 'request' | 'requestRun' | 'payloadBytesMax'>;

type WorkspaceOptions = {
  readonly fleet: Pick<Fleet, 'name'>;
  readonly bus: Pick<Bus, 'requestRun'>;
  readonly runCheck: RunCheck;
};

/** The attempt waits at most `startTimeoutMs` for a slot, then `timeoutMs` for the answer. */
export type CheckTimes = {
  readonly startTimeoutMs: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onStarted: () => void;
};

export async function runWorkspaceCheck(
  options: WorkspaceOptions,
  request: RunRequest,
  worker: WorkerContext,
  times: CheckTimes,
): Promise<CheckReply> {
  const named = runnerOf(worker);
  if (named === null) return options.runCheck(request, times.signal, times.onStarted);
  if ('reason' in named) return { outcome: 'error', reason: named.reason };
  // A remote runner must not work longer than we wait, so it always gets our timeout.
  return askRunner(options, named.runner, { ...request, timeoutMs: times.timeoutMs }, times);
}

/**
 * Returns the runner that the policy names, or null if it names none. Returns a `reason` if it names several and the
 * worker's label "runner" selects none of them.
 */
export function runnerOf({
  attempt,
  labels,
}: Pick<WorkerContext, 'attempt' | 'labels'>): { runner: string } | { reason: string } | null {
  const { runner = null, runners = [] } = attempt?.inForce.policy ?? {};
  if (runner !== null) return { runner };
  if (runners.length === 0) return null;
  const label = Object.hasOwn(labels, 'runner') ? labels.runner : undefined;
  if (label !== undefined && runners.includes(label)) return { runner: label };
  const found = label === undefined ? 'has no label "runner"' : `has the label "runner" ${quote(label)}`;
  return { reason: `the worker ${found}, which selects none of the policy's runners: ${runners.join(', ')}` };
}

const quote = (text: string) => JSON.stringify(text.length > 128 ? `${text.slice(0, 128)}…` : text);

const pendingSchema = z.object({
  outcome: z.literal('pending'),
  reason: z.string().optional(),
  retryAfterMs: z.number().optional(),
});
const resultSchema = z.object({
  outcome: z.enum(['pass', 'fail', 'error', 'timeout']),
  reason: z.string().optional(),
  feedback: z.unknown().optional(),
  action: z.enum(['complete', 'continue', 'escalate']).optional(),
  nextPrompt: z.string().optional(),
  checkpointData: z.unknown().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  tookMs: z.number().nonnegative().optional(),
  usage: entrySchemas.worker['usage.reported'].optional(),
});
/** A runner's reply to a request that it does not understand; every endpoint replies like this (protocol.md §9). */
const refusalSchema = z.object({ error: z.object({ message: z.string() }) });

const earlierMsMax = 500;
/** Returns how long before the deadline an answer must come, so that its entry is folded in time. */
export const marginMs = (timeoutMs: number): number => Math.min(earlierMsMax, timeoutMs / 10);

async function askRunner(
  options: WorkspaceOptions,
  runner: string,
  request: RunRequest,
  { startTimeoutMs, timeoutMs, onStarted }: CheckTimes,
): Promise<CheckReply> {
  const waitMs = Math.ceil(timeoutMs - marginMs(timeoutMs));
  const times = { startTimeoutMs: startTimeoutMs - earlierMsMax, timeoutMs: waitMs, onStarted };
  const waiting = options.bus.requestRun(subject(options, `run.${runner}`), formatRunRequest(request), times);
  const text = await waiting.catch((error: Error) => error);
  if (text instanceof Error) {
    const refused = text instanceof AppError && text.code === 'check.failed';
    const what = refused ? 'refused the request' : 'does not answer';
    return { outcome: 'error', reason: `runner ${runner} ${what}: ${text.message}` };
  }
  return readResult(runner, text);
}

function readResult(runner: string, text: string): CheckReply {
  const wrong = (what: string): RunResult => ({ outcome: 'error', reason: `runner ${runner} ${what}` });
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return wrong('replied with invalid JSON');
  }
  const refusal = refusalSchema.safeParse(reply);
  if (refusal.success) return wrong(`refused the request: ${refusal.data.error.message.slice(0, 1_000)}`);
  const { data } = z.union([pendingSchema, resultSchema]).safeParse(reply);
  return data === undefined ? wrong('replied in an unknown form') : (omitUndefined(data) as CheckReply);
}

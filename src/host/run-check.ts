/** Who looks into a `command` or `files` check: the runner inside this service, or the one that the policy names. */
import { z } from 'zod';
import type { WorkerContext } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { type HostContext, subject } from './context.ts';
import type { RunResult } from './remote.ts';

type RunIds = {
  readonly fleet: string;
  readonly worker: string;
  readonly task: string | null;
  readonly attempt: string;
};
/** `cwd`: the worker's own. `timeoutMs`: the check's own; null: the command's, or 120 s for files. */
export type RunRequest = { readonly cwd: string | null; readonly timeoutMs: number | null } & (
  | { readonly kind: 'command'; readonly name: string; readonly env: RunIds }
  | { readonly kind: 'files'; readonly files: readonly string[] }
);
/** The runner inside the service; the room that starts processes implements it. */
export type RunCheck = (request: RunRequest, signal: AbortSignal) => Promise<RunResult>;

/** @param timeoutMs how long the attempt waits for the answer */
export async function runWhereNamed(
  context: HostContext,
  runCheck: RunCheck,
  request: RunRequest,
  worker: WorkerContext,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<RunResult> {
  const named = runnerOf(worker);
  if (named === null) return runCheck(request, signal);
  if ('reason' in named) return { outcome: 'error', reason: named.reason };
  // A remote runner never waits longer than we do, so it is always told how long that is.
  return askRunner(context, named.runner, { ...request, timeoutMs }, timeoutMs);
}

/** Null: the policy names none. `reason`: it names some, and the worker's label none of them. */
function runnerOf({ attempt, labels }: WorkerContext): { runner: string } | { reason: string } | null {
  const { runner = null, runners = [] } = attempt?.inForce.policy ?? {};
  if (runner !== null) return { runner };
  if (runners.length === 0) return null;
  const label = Object.hasOwn(labels, 'runner') ? labels.runner : undefined;
  if (label !== undefined && runners.includes(label)) return { runner: label };
  const said = label === undefined ? 'has no label "runner"' : `has the label "runner" ${quote(label)}`;
  return { reason: `the worker ${said}, so none of the policy's runners is meant: ${runners.join(', ')}` };
}

const quote = (text: string) => JSON.stringify(text.length > 128 ? `${text.slice(0, 128)}…` : text);

const resultSchema = z.object({
  outcome: z.enum(['pass', 'fail', 'error', 'timeout']),
  reason: z.string().optional(),
  feedback: z.unknown().optional(),
  tookMs: z.number().nonnegative().optional(),
});
/** What a runner says to a request that it does not understand, as every endpoint does (protocol 9). */
const refusalSchema = z.object({ error: z.object({ message: z.string() }) });

/** An answer that comes with the deadline comes too late: the log's clock would have passed it. */
const earlierMsMax = 500;

async function askRunner(
  context: HostContext,
  runner: string,
  request: RunRequest,
  timeoutMs: number,
): Promise<RunResult> {
  const waitMs = Math.ceil(timeoutMs - Math.min(earlierMsMax, timeoutMs / 10));
  const waiting = context.bus.request(subject(context, `run.${runner}`), JSON.stringify(request), waitMs);
  const text = await waiting.catch((error: Error) => error);
  if (text instanceof Error) {
    const refused = text instanceof AppError && text.code === 'check.failed';
    const what = refused ? 'refused the request' : 'does not answer';
    return { outcome: 'error', reason: `runner ${runner} ${what}: ${text.message}` };
  }
  return readResult(runner, text);
}

function readResult(runner: string, text: string): RunResult {
  const wrong = (what: string): RunResult => ({ outcome: 'error', reason: `runner ${runner} ${what}` });
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return wrong('replied what is no JSON');
  }
  const refusal = refusalSchema.safeParse(reply);
  if (refusal.success) return wrong(`refused the request: ${refusal.data.error.message.slice(0, 1_000)}`);
  const { data } = resultSchema.safeParse(reply);
  if (data === undefined) return wrong('replied in a form that is not known');
  const { outcome, reason, feedback, tookMs } = data;
  return {
    outcome,
    ...(reason !== undefined && { reason }),
    ...(feedback !== undefined && { feedback }),
    ...(tookMs !== undefined && { tookMs }),
  };
}

/** Serves a check or a remote hook: the user's own function, called by the service (protocol.md §8). */
import { resolve } from 'node:path';
import { createFairSemaphore } from '../concurrency/semaphore.ts';
import { AppError } from '../errors.ts';
import type { ClientLink } from '../nats/client-link.ts';
import { checkFiles } from '../runner/files.ts';
import { checkId } from '../service/parse-input.ts';
import { startTimer, type Timer } from '../timer.ts';
import { type AgentContext, readAgentContext } from './agent-context.ts';
import { type CheckReply, encodeReply } from './check-results.ts';
import type { TaskCompletionChecker } from './checkers.ts';

/** `signal` fires after `timeoutMs`. */
export type CheckFunction = (context: AgentContext, signal: AbortSignal) => CheckReply | Promise<CheckReply>;

export type ServeOptions = {
  /** After this, the reply is an error; default: 10 minutes. How long the service waits is up to its policy. */
  readonly timeoutMs?: number;
  /** The number of requests that run at once; the others wait, the workers they are about in turn. Default: 16. */
  readonly concurrency?: number;
  /** For checkers that look at files: worker folders must lie in one of these; default: the working directory. */
  readonly roots?: readonly string[];
};

export type ServedCheck = {
  readonly name: string;
  /** Accepts no more requests, and resolves when the running ones are answered. */
  close(): Promise<void>;
};

const concurrencyDefault = 16;
/** Longer than any policy waits: it only ends checks that would hold their slot, and `close`, for ever. */
const timeoutDefaultMs = 600_000;
/** Half of them may wait at once, which is as many as the requests that a replica of the service holds open. */
const waitingMax = 20_000;
/**
 * A worker waits for one check at a time: the others are of attempts that a later one has replaced, or come from a
 * script that asks by itself, which may well send a hundred.
 */
const waitingPerWorkerMax = 128;

/**
 * A throw, a rejection or an invalid result is an error of the check, with its message. It never passes: `onError` of
 * the policy or the hook decides what it means for the stop.
 * @throws AppError input.bad, input.unauthorized
 */
async function serveCheck(
  link: ClientLink,
  name: string,
  check: CheckFunction | TaskCompletionChecker,
  { timeoutMs = timeoutDefaultMs, concurrency = concurrencyDefault, roots = ['.'] }: ServeOptions = {},
): Promise<ServedCheck> {
  checkId('check', name);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new AppError('input.bad', `concurrency must be a whole number of at least 1, not '${concurrency}'`);
  const run =
    typeof check === 'function'
      ? check
      : checkWith(
          check,
          roots.map((root) => resolve(root)),
        );
  const slots = createFairSemaphore({ countMax: concurrency, waitingMax, perWorkerMax: waitingPerWorkerMax });
  const server = await link.serveCheck(name, async (request) => {
    const context = readAgentContext(request);
    // A folder is what the worker says, and need not be on this machine: nothing keeps a flood from inventing some.
    const by = { folder: null, worker: context.worker };
    const admission = await slots.acquire(by, new AbortController().signal); // requests are never cancelled
    if (admission === 'full')
      throw new AppError('check.failed', `${waitingMax / 2} requests wait for check ${name}, the most that it accepts`);
    if (admission !== 'admitted')
      throw new AppError(
        'check.failed',
        `more than ${waitingPerWorkerMax} requests of one worker wait for check ${name}`,
      );
    try {
      return encodeReply(await runInTime(run, context, timeoutMs));
    } finally {
      slots.release();
    }
  });
  return { name, close: () => server.close() };
}

async function runInTime(run: CheckFunction, context: AgentContext, timeoutMs: number): Promise<unknown> {
  const abort = new AbortController();
  let timer: Timer | undefined;
  const timedOut = new Promise<never>((_resolve, reject) => {
    timer = startTimer(timeoutMs, () => {
      reject(new AppError('check.failed', `no result within ${timeoutMs} ms`));
      abort.abort();
    });
  });
  try {
    return await Promise.race([run(context, abort.signal), timedOut]);
  } finally {
    timer?.clear();
  }
}

const checkWith =
  (checker: TaskCompletionChecker, roots: readonly string[]): CheckFunction =>
  ({ plan, draftContent, agentOutput, stopReason, cwd }, signal) =>
    checker.check({
      session: { plan },
      tentativeOutput: draftContent ?? agentOutput ?? null,
      filesystem: { exists: (path) => existsIn(cwd, path, roots, signal) },
      stopReason,
    });

/** Follows the rules of the `files` check. @throws AppError check.failed: no folder, or one outside `roots` */
async function existsIn(cwd: string | null, path: string, roots: readonly string[], signal: AbortSignal) {
  if (cwd === null) throw new AppError('check.failed', 'the worker has no folder: its registration names no cwd');
  const { outcome, reason } = await checkFiles(
    { kind: 'files', cwd, files: [path], timeoutMs: null },
    { roots, baseDir: process.cwd() },
    signal,
  );
  if (outcome === 'pass' || outcome === 'fail') return outcome === 'pass';
  throw new AppError('check.failed', reason ?? `'${path}' cannot be checked`);
}

// All checks and hooks that a client serves over one connection, which is opened with the first one and closed with the
// client.

export type Serve = (
  name: string,
  check: CheckFunction | TaskCompletionChecker,
  options?: ServeOptions,
) => Promise<ServedCheck>;
export type ServedChecks = { readonly serve: Serve; close(): Promise<void> };

/** @param openLink `isOwn` false: the connection belongs to the caller, who closes it */
export function createServedChecks(openLink: () => Promise<{ link: ClientLink; isOwn: boolean }>): ServedChecks {
  let opening: ReturnType<typeof openLink> | null = null;
  const open = new Set<ServedCheck>();
  const linkForChecks = async () => {
    opening ??= openLink();
    try {
      return (await opening).link;
    } catch (error) {
      opening = null;
      throw error;
    }
  };
  return {
    async serve(name, check, options) {
      const served = await serveCheck(await linkForChecks(), name, check, options);
      const handle: ServedCheck = {
        name,
        async close() {
          open.delete(handle);
          await served.close();
        },
      };
      open.add(handle);
      return handle;
    },
    async close() {
      await Promise.all([...open].map((it) => it.close()));
      const opened = await opening;
      if (opened?.isOwn) await opened.link.close();
    },
  };
}

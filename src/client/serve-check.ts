/** Serves the user's own functions as remote checks and hooks (protocol.md §8). */
import { resolve } from 'node:path';
import { createFairSemaphore } from '../concurrency/fair-semaphore.ts';
import { AppError } from '../errors.ts';
import type { ClientLink } from '../nats/client-link.ts';
import { checkFiles } from '../runner/files.ts';
import { checkId } from '../service/parse-input.ts';
import { startTimer, type Timer } from '../timer.ts';
import { type AgentContext, readAgentContext } from './agent-context.ts';
import { type CheckReply, encodeReply } from './check-results.ts';
import type { TaskCompletionChecker } from './checkers.ts';

/** `signal` aborts after `timeoutMs`. */
export type CheckFunction = (context: AgentContext, signal: AbortSignal) => CheckReply | Promise<CheckReply>;

export type ServeOptions = {
  /** After this time the reply is an error. Default: 10 minutes. The service's own timeout is set by its policy. */
  readonly timeoutMs?: number;
  /** Number of requests that run at once. Others queue, served round-robin by worker. Default: 16. */
  readonly concurrency?: number;
  /** For checkers that read files: folders that a worker's folder must be inside of. Default: the working directory. */
  readonly roots?: readonly string[];
};

export type ServedCheck = {
  readonly name: string;
  /** Stops accepting requests and resolves when the running ones are answered. */
  close(): Promise<void>;
};

const concurrencyDefault = 16;
/** Longer than any policy waits. Only ends checks that would otherwise hold their slot, and `close`, forever. */
const timeoutDefaultMs = 600_000;
/** Half of these can be queued at once: as many as one replica of the service keeps open. */
const waitingMax = 20_000;
/**
 * A worker waits for one check at a time. More requests come from superseded attempts, or from a script that sends its
 * own, perhaps a hundred.
 */
const waitingPerWorkerMax = 128;

/**
 * Starts serving one check. A throw, a rejection or an invalid result is reported as an error of the check, never as a
 * pass; `onError` of the policy or hook decides what follows.
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
  if (typeof check !== 'function' && typeof check?.check !== 'function')
    throw new AppError('input.bad', `check ${name} needs a function, or a checker with a method "check"`);
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
    // Queue by worker only. The folder is whatever the worker reports, so a flood could invent new ones.
    const requester = { folder: null, worker: context.worker };
    const admission = await slots.acquire(requester, new AbortController().signal); // requests are never cancelled
    if (admission === 'full')
      throw new AppError('check.failed', `${waitingMax / 2} requests wait for check ${name}, the maximum`);
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

/** Follows the rules of the `files` check. @throws AppError check.failed if the folder is missing or outside `roots` */
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

// A client serves all its checks and hooks over one connection, opened with the first one and closed with the client.

export type Serve = (
  name: string,
  check: CheckFunction | TaskCompletionChecker,
  options?: ServeOptions,
) => Promise<ServedCheck>;
export type ServedChecks = { readonly serve: Serve; close(): Promise<void> };

/** @param openLink if it resolves with `isOwn` false, the caller owns the connection and closes it */
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
      await Promise.all([...open].map((check) => check.close()));
      const opened = await opening;
      if (opened?.isOwn) await opened.link.close();
    },
  };
}

/** Serves a check or a remote hook: arbitrary logic of the user's, asked by the service (protocol 8). */
import { resolve } from 'node:path';
import { AppError } from '../errors.ts';
import type { ClientLink } from '../nats/client-link.ts';
import { checkId } from '../parse-input.ts';
import { lookAtFiles } from '../runner/files.ts';
import { createSlots } from '../runner/slots.ts';
import { type AgentContext, readAgentContext } from './agent-context.ts';
import type { TaskCompletionChecker } from './checkers.ts';
import { type CheckReply, encodeReply } from './results.ts';

/** `signal` fires when the answer comes too late, by `timeoutMs`. */
export type CheckFunction = (context: AgentContext, signal: AbortSignal) => CheckReply | Promise<CheckReply>;

export type ServeOptions = {
  /** Then the answer is an error that says so; default: 10 minutes. The service waits as long as its policy says. */
  readonly timeoutMs?: number;
  /** Questions worked on at once, 16 by default; the others wait. */
  readonly concurrency?: number;
  /** For checkers of files: where workers' folders may lie; default: the folder of this process. */
  readonly roots?: readonly string[];
};

export type ServedCheck = {
  readonly name: string;
  /** Takes no more questions, and resolves when those that it took are answered. */
  close(): Promise<void>;
};

const concurrencyDefault = 16;
/** Beyond any policy's patience; it ends what would keep its place, and `close`, for ever. */
const timeoutDefaultMs = 600_000;

/**
 * A throw, a rejection and a nonsense result are errors of the check, with their words: the policy's or the hook's
 * `onError` says what becomes of the stop. They never pass.
 * @throws AppError input.bad, input.unauthorized
 */
export async function serveCheck(
  link: ClientLink,
  name: string,
  check: CheckFunction | TaskCompletionChecker,
  { timeoutMs = timeoutDefaultMs, concurrency = concurrencyDefault, roots = ['.'] }: ServeOptions = {},
): Promise<ServedCheck> {
  checkId('check', name);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new AppError('input.bad', `concurrency '${concurrency}' is no whole number from 1 on`);
  const ask =
    typeof check === 'function'
      ? check
      : askChecker(
          check,
          roots.map((root) => resolve(root)),
        );
  const slots = createSlots(concurrency);
  const server = await link.serveCheck(name, async (question) => {
    const context = readAgentContext(question);
    await slots.take(new AbortController().signal); // nobody takes a question back
    try {
      return encodeReply(await askInTime(ask, context, timeoutMs));
    } finally {
      slots.give();
    }
  });
  return { name, close: () => server.close() };
}

async function askInTime(ask: CheckFunction, context: AgentContext, timeoutMs: number): Promise<unknown> {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new AppError('check.failed', `no result within ${timeoutMs} ms`));
      abort.abort();
    }, timeoutMs);
  });
  try {
    return await Promise.race([ask(context, abort.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

const askChecker =
  (checker: TaskCompletionChecker, roots: readonly string[]): CheckFunction =>
  ({ plan, draftContent, agentOutput, stopReason, cwd }, signal) =>
    checker.check({
      session: { plan },
      tentativeOutput: draftContent ?? agentOutput ?? null,
      filesystem: { exists: (path) => existsIn(cwd, path, roots, signal) },
      stopReason,
    });

/** As the `files` check looks. @throws AppError check.failed: no folder, or one that is not under `roots` */
async function existsIn(cwd: string | null, path: string, roots: readonly string[], signal: AbortSignal) {
  const { outcome, reason } = await lookAtFiles({ kind: 'files', cwd, files: [path], timeoutMs: null }, roots, signal);
  if (outcome === 'pass' || outcome === 'fail') return outcome === 'pass';
  throw new AppError('check.failed', reason ?? `'${path}' cannot be looked at`);
}

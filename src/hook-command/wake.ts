/**
 * Waits for the resolution of a session's escalation. The service answers as soon as a person has resolved it, or after
 * less than a minute without a resolution; then this asks again.
 */
import { decodeBody } from '../text/body-text.ts';
import type { Fields } from './agent.ts';
import type { HookOptions } from './options.ts';
import { post } from './post.ts';

export type ResolutionAnswer =
  /** `prompt` is null if there is none, or if the session is not escalated. */
  | { readonly kind: 'resolved'; readonly prompt: string | null }
  | { readonly kind: 'pending' }
  | { readonly kind: 'unreachable' }
  /** For example, unknown session. */
  | { readonly kind: 'rejected'; readonly why: string };

type Question = {
  readonly http: string;
  readonly token: string | undefined;
  /** The agent's name. */
  readonly agent: string;
  readonly worker: string;
  readonly fleet?: string | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Delay between attempts while the service is unreachable. */
export const retryMs = 5_000;
/** Longer than the service holds the request. */
const answerTimeoutMs = 90_000;
const retryUnknownMs = 250;
const orphanCheckMs = 1_000;
/** A little less than the timeout of the hook that `init` writes, one day. */
const waitMs = 24 * 60 * 60 * 1_000 - 5_000;

export async function fetchResolution({
  http,
  token,
  agent,
  worker,
  fleet,
  signal,
}: Question): Promise<ResolutionAnswer> {
  const query = new URLSearchParams({ worker, ...(fleet === undefined ? {} : { fleet }) });
  const url = `${http}/hooks/${agent}/wake?${query}`;
  const posted = await post({ url, token, body: null, timeoutMs: answerTimeoutMs, ...(signal && { signal }) });
  if (posted.kind === 'unreachable') return { kind: 'unreachable' };
  if (posted.kind === 'rejected') return posted;
  if (posted.body === null) return { kind: 'pending' };
  const { prompt } = posted.body as { prompt?: unknown };
  return { kind: 'resolved', prompt: typeof prompt === 'string' ? prompt : null };
}

/**
 * Resolves to the text for the agent, or to null if there is nothing to wake it for.
 * @param stopBody the agent's call, unchanged
 */
export async function waitForResolution(
  { http, token, name, agent, fleet, timeoutMs, waits }: HookOptions,
  stopBody: Buffer,
): Promise<string | null> {
  const { wake } = agent;
  const stop = JSON.parse(decodeBody(stopBody)) as Fields;
  const worker = wake?.sessionOf(stop);
  if (wake === undefined || typeof worker !== 'string' || worker === '') return null;
  const orphaned = watchParent();
  const signal = AbortSignal.any([orphaned.signal, AbortSignal.timeout(timeoutMs ?? waitMs)]);
  const prompt = await pollResolution({ http, token, agent: name, worker, fleet, signal }, waits.sessionMs);
  orphaned.stop();
  if (prompt === null) return null;
  // Report the prompt to the service like any other. The reply has the text for the agent only once: not if another
  // process already has it, or if a person has prompted the session meanwhile.
  const call = Buffer.from(JSON.stringify(wake.promptCall(stop, prompt)));
  const posted = await post({ url: `${http}/hooks/${name}`, token, body: call, timeoutMs: retryMs });
  return posted.kind === 'answer' ? wake.textOf((posted.body ?? {}) as Fields) : null;
}

async function pollResolution(
  question: Question & { readonly signal: AbortSignal },
  unknownMs: number,
): Promise<string | null> {
  const startedMs = Date.now();
  let isKnown = false;
  while (!question.signal.aborted) {
    const answer = await fetchResolution(question);
    if (answer.kind === 'resolved' && answer.prompt !== null) return answer.prompt;
    if (answer.kind === 'pending') isKnown = true;
    else if (answer.kind === 'unreachable' && isKnown) await pause(retryMs, question.signal);
    else if (isKnown || Date.now() - startedMs >= unknownMs) return null;
    else await pause(retryUnknownMs, question.signal);
  }
  return null;
}

/** Aborts when the agent is killed, since there is nobody to wake then. */
function watchParent(): { readonly signal: AbortSignal; stop(): void } {
  const gone = new AbortController();
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parent) gone.abort();
  }, orphanCheckMs);
  return { signal: gone.signal, stop: () => clearInterval(timer) };
}

/** Waits for `ms`, or until the signal aborts. */
export const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });

/**
 * A person's word to a session that is escalated, as its side waits for it: asked of the service, which holds the
 * question for less than a minute and is then asked again.
 */
import type { HookOptions } from './options.ts';
import { post } from './post.ts';

export type Asked =
  /** Null: there is nothing to be said (any more). */
  | { readonly kind: 'word'; readonly prompt: string | null }
  | { readonly kind: 'not-yet' }
  | { readonly kind: 'away' }
  /** As of a session that nobody knows. */
  | { readonly kind: 'rejected'; readonly why: string };

type Question = {
  readonly http: string;
  readonly token: string | undefined;
  readonly agent: string;
  readonly worker: string;
  readonly signal?: AbortSignal | undefined;
};

/** Where the service is away. */
export const retryMs = 5_000;
/** Longer than the service holds it. */
const answerTimeoutMs = 90_000;
/** The stop itself is asked for by another hook, at the same time: so late it may come to the service. */
const stopWithinMs = 2_000;
const lookEveryMs = 250;
const orphanedEveryMs = 1_000;
/** The line that `init` writes lives for a day. */
const patienceMs = 24 * 60 * 60 * 1_000 - 5_000;

export async function askForWord({ http, token, agent, worker, signal }: Question): Promise<Asked> {
  const url = `${http}/hooks/${agent}/wake?worker=${encodeURIComponent(worker)}`;
  const posted = await post({ url, token, body: null, timeoutMs: answerTimeoutMs, ...(signal && { signal }) });
  if (posted.kind === 'unreachable') return { kind: 'away' };
  if (posted.kind === 'rejected') return posted;
  if (posted.body === null) return { kind: 'not-yet' };
  const { prompt } = posted.body as { prompt?: unknown };
  return { kind: 'word', prompt: typeof prompt === 'string' ? prompt : null };
}

/** Null: there is nobody to be waited for, or it has taken too long. `stop`: the agent's call, as it came. */
export async function waitForWord(
  { http, token, agent, timeoutMs }: HookOptions,
  stop: Buffer,
): Promise<string | null> {
  const { session_id: worker, cwd } = JSON.parse(stop.toString('utf8')) as Record<string, unknown>;
  if (typeof worker !== 'string' || worker === '') return null;
  const gone = whenOrphaned();
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(timeoutMs ?? patienceMs)]);
  const prompt = await resolved({ http, token, agent, worker, signal });
  gone.forget();
  if (prompt === null) return null;
  const call = { hook_event_name: 'UserPromptSubmit', session_id: worker, cwd, prompt };
  return claim(`${http}/hooks/${agent}`, token, call);
}

async function resolved(question: Question & { readonly signal: AbortSignal }): Promise<string | null> {
  const begunMs = Date.now();
  let isKnown = false;
  while (!question.signal.aborted) {
    const asked = await askForWord(question);
    if (asked.kind === 'word' && asked.prompt !== null) return asked.prompt;
    if (asked.kind === 'not-yet') isKnown = true;
    else if (asked.kind === 'away' && isKnown) await pause(retryMs, question.signal);
    else if (isKnown || Date.now() - begunMs >= stopWithinMs) return null;
    else await pause(lookEveryMs, question.signal);
  }
  return null;
}

/** An agent that is killed leaves this behind: then there is nobody to be woken. */
function whenOrphaned(): { readonly signal: AbortSignal; forget(): void } {
  const gone = new AbortController();
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parent) gone.abort();
  }, orphanedEveryMs);
  return { signal: gone.signal, forget: () => clearInterval(timer) };
}

/**
 * The session is prompted, so the service is told, as by any prompt: it gives the words for the agent, and gives them
 * once. Null: another who waited had them, or the person himself has prompted it.
 */
async function claim(url: string, token: string | undefined, prompt: object): Promise<string | null> {
  const posted = await post({ url, token, body: Buffer.from(JSON.stringify(prompt)), timeoutMs: retryMs });
  if (posted.kind !== 'answer') return null;
  const { hookSpecificOutput: told } = (posted.body ?? {}) as { hookSpecificOutput?: { additionalContext?: string } };
  return told?.additionalContext ?? null;
}

/** Ended early by the signal. */
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

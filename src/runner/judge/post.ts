/**
 * Posts JSON to the API of a model, and again while the API is busy. The answer is bounded, redirects are not followed (they
 * would get the key).
 */
import type { Logger } from '../../log.ts';
import { sleep } from '../../timer.ts';

export type Post = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** The time that is left, in milliseconds. */
  readonly leftMs: () => number;
  readonly log: Logger;
};
/** `failure`: there is no answer, and why; `status`: of the reply that says so. */
export type Posted = { readonly json: unknown } | { readonly failure: string; readonly status: number | null };

const answerBytesMax = 262_144;
const triesMax = 8;
/** The first pause between tries, which doubles up to the longest, where the server names none. */
const pauseMs = { first: 500, max: 30_000 };
/** A server that is busy, or that has something in front of it that is. */
const busy = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529]);

export async function post(body: object, options: Post): Promise<Posted> {
  const payload = JSON.stringify(body);
  for (let tries = 1; ; tries += 1) {
    const reply = await postOnce(payload, options);
    if ('json' in reply || !reply.isBusy || options.signal.aborted) return reply;
    const waitMs = Math.max(reply.retryAfterMs ?? Math.min(pauseMs.first * 2 ** (tries - 1), pauseMs.max), 1);
    if (tries === triesMax || waitMs >= options.leftMs()) return { ...reply, failure: `${reply.failure} (${tries}×)` };
    options.log.debug({ status: reply.status, waitMs }, 'the model is asked again');
    await sleep(waitMs, options.signal);
    if (options.signal.aborted) return reply;
  }
}

type Reply =
  | { readonly json: unknown }
  | {
      readonly failure: string;
      readonly status: number | null;
      readonly isBusy: boolean;
      readonly retryAfterMs: number | null;
    };

async function postOnce(body: string, { url, headers, signal }: Post): Promise<Reply> {
  const failed = (failure: string, status: number | null, isBusy: boolean, retryAfterMs: number | null = null) => ({
    ...{ failure, status, isBusy, retryAfterMs },
  });
  try {
    const response = await fetch(url, {
      ...{ method: 'POST', body, signal, redirect: 'manual' },
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
    });
    const { status } = response;
    if (status >= 300 && status < 400) {
      await response.body?.cancel();
      return failed(`answered ${status}, and redirects are not followed`, status, false);
    }
    const text = await readText(response);
    if (response.ok)
      return text === null ? failed(`answered with more than ${answerBytesMax} bytes`, status, false) : readJson(text);
    const why = describeError(text);
    return failed(`answered ${status}${why}`, status, busy.has(status), retryAfterOf(response.headers));
  } catch (error) {
    // The message of an error may quote headers; its code does not.
    const { cause, name } = error as Error & { cause?: { code?: unknown } };
    const code = typeof cause?.code === 'string' ? cause.code : name;
    return failed(`cannot be reached (${code})`, null, true);
  }

  function readJson(text: string): Reply {
    try {
      return { json: JSON.parse(text) };
    } catch {
      return failed('answered with what is not JSON', 200, false);
    }
  }
}

/** Returns null if it is too long. */
async function readText(response: Response): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > answerBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const errorLengthMax = 300;

/** `: <message>` of both APIs and of most servers; '' where there is none. */
function describeError(text: string | null): string {
  try {
    const { error } = JSON.parse(text ?? '') as { error?: string | { message?: unknown } };
    const message = typeof error === 'string' ? error : error?.message;
    return typeof message === 'string' && message !== '' ? `: ${message.slice(0, errorLengthMax)}` : '';
  } catch {
    return '';
  }
}

/** In seconds or as a date (RFC 9110); null: it does not say. */
function retryAfterOf(headers: Headers): number | null {
  const given = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(given)) return Number(given) * 1_000;
  const untilMs = Date.parse(given);
  return Number.isNaN(untilMs) ? null : Math.max(0, untilMs - Date.now());
}

/**
 * Posts notices to a URL, signed. Retries while somebody waits for the notice, if a retry may help. Only the status of
 * the reply counts. Redirects are not followed, because the signature is for one receiver. The secret and the URL,
 * which may contain another secret, are never logged.
 */
import { createHmac } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { createSemaphore } from '../concurrency/semaphore.ts';
import type { Logger } from '../log.ts';
import { isRefused, lookupWithin, type Reach, refusedCode } from './private-address.ts';

/** `retried`: an attempt that failed and will be repeated. The others end a delivery. */
export const webhookOutcomes = ['delivered', 'retried', 'failed'] as const;
export type WebhookOutcome = (typeof webhookOutcomes)[number];

export type WebhookOptions = {
  readonly url: string;
  /** Null for unsigned webhooks. */
  readonly secret: string | null;
  /** The allowed addresses. Default: any. */
  readonly reach?: Reach;
  /** Milliseconds since 1970, for the timestamp. */
  readonly clock: () => number;
  readonly logger: Logger;
  readonly count: (outcome: WebhookOutcome) => void;
  /** Called with the change in the number of deliveries that wait for a retry. */
  readonly onWaiting?: (change: 1 | -1) => void;
  /** The pause after the first attempt. Doubles after each attempt, up to a minute. */
  readonly pauseMs?: number;
  /** Timeout of one attempt. */
  readonly timeoutMs?: number;
};

const timeoutMsDefault = 10_000;
const pauseMsDefault = 250;
/** A receiver that comes back after a long time is called within a minute. */
const pauseMsMax = 60_000;
/** Maximum number of concurrent deliveries, which is also how many a hanging receiver can block. */
const atOnceMax = 8;

/** Resolves when the receiver has accepted the notice. Rejects with the reason, or when `signal` fires. */
export type PostNotice = (notice: { readonly delivery: string }, signal: AbortSignal) => Promise<void>;

export function createWebhook(options: WebhookOptions): PostNotice {
  const { url, secret, clock, logger, count, onWaiting = () => {} } = options;
  const { timeoutMs = timeoutMsDefault, pauseMs = pauseMsDefault, reach = 'all' } = options;
  const target = readTarget(url);
  const slots = createSemaphore(atOnceMax);

  const post = async (body: string, delivery: string, signal: AbortSignal): Promise<Answer> => {
    const timestamp = String(Math.floor(clock() / 1_000));
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'stopgate',
      'stopgate-delivery': delivery,
      'stopgate-timestamp': timestamp,
      ...(secret === null ? {} : { 'stopgate-signature': sign(secret, timestamp, body) }),
      ...target.headers,
    };
    const late = AbortSignal.timeout(timeoutMs);
    try {
      const both = AbortSignal.any([signal, late]);
      return readStatus(await send(target.url, { headers, body, signal: both, reach }));
    } catch (error) {
      signal.throwIfAborted();
      if ((error as NodeJS.ErrnoException).code === refusedCode)
        return { taken: false, retry: false, why: refusedText };
      return { taken: false, retry: true, why: late.aborted ? `no answer within ${timeoutMs} ms` : describe(error) };
    }
  };

  return async (notice, signal) => {
    const body = JSON.stringify(notice);
    const { delivery } = notice;
    for (let tries = 1; ; tries += 1) {
      if (!(await slots.acquire(signal))) throw new Error('the notice is no longer needed');
      const answer = await post(body, delivery, signal).finally(slots.release);
      if (answer.taken) {
        count('delivered');
        return;
      }
      if (!answer.retry) {
        count('failed');
        throw new Error(answer.why);
      }
      count('retried');
      const againInMs = Math.min(pauseMs * 2 ** Math.min(tries - 1, 30), pauseMsMax);
      logger.warn(
        { delivery, host: target.host, why: answer.why, tries, againInMs },
        'webhook not delivered, will retry',
      );
      onWaiting(1);
      await pause(againInMs, undefined, { signal }).finally(() => onWaiting(-1));
    }
  };
}

/** The value of the header: a signature of `<timestamp>.<body>`. */
const sign = (secret: string, timestamp: string, body: string): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;

type Answer = { readonly taken: true } | { readonly taken: false; readonly retry: boolean; readonly why: string };

function readStatus(status: number): Answer {
  if (status >= 200 && status < 300) return { taken: true };
  const why = `the receiver answered ${status}${status >= 300 && status < 400 ? '; redirects are not followed' : ''}`;
  return { taken: false, retry: status === 429 || status >= 500, why };
}

const refusedText =
  'the webhook has a private address, to which this service does not post: set escalation.webhook.allowPrivate to allow it';

type Sent = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly reach: Reach;
};

/** Resolves to the status. Ignores the body of the reply, which may be endless. */
function send(url: URL, { headers, body, signal, reach }: Sent): Promise<number> {
  return new Promise((resolve, reject) => {
    // `lookup` is not called for an IP address.
    if (isRefused(url.hostname, reach)) return reject(Object.assign(new Error(refusedText), { code: refusedCode }));
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const sent = request(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      signal,
      agent: false,
      lookup: lookupWithin(reach),
    });
    sent.once('response', (response) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
    sent.on('error', reject); // also after the reply
    sent.end(body);
  });
}

/** Moves user and password from the URL into a header. */
function readTarget(text: string) {
  const url = new URL(text);
  const { username, password, host } = url;
  const plain = [username, password].map(decodeURIComponent).join(':');
  url.username = '';
  url.password = '';
  const headers: Record<string, string> =
    username === '' && password === '' ? {} : { authorization: `Basic ${Buffer.from(plain).toString('base64')}` };
  return { url, host, headers };
}

function describe(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? (message || 'the request failed');
}

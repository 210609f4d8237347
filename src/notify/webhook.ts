/**
 * Webhook: posts notices to a URL, signed, and retries while anybody waits for them, if that may help. Only the status
 * of the answer counts. Redirects are not followed, because the signature is for one receiver. The secret and the URL
 * (which may contain another secret) are never logged.
 */
import { createHmac } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { createSemaphore } from '../concurrency/semaphore.ts';
import type { Logger } from '../log.ts';
import { isRefused, lookupWithin, type Reach, refusedCode } from './private-address.ts';

/** `retried`: a try that failed and will be repeated; the others end a delivery. */
export const webhookOutcomes = ['delivered', 'retried', 'failed'] as const;
export type WebhookOutcome = (typeof webhookOutcomes)[number];

export type WebhookOptions = {
  readonly url: string;
  /** It is null if webhooks are unsigned. */
  readonly secret: string | null;
  /** Which addresses it may post to. Default: any. */
  readonly reach?: Reach;
  /** Milliseconds since 1970, for the time stamp. */
  readonly clock: () => number;
  readonly logger: Logger;
  readonly count: (outcome: WebhookOutcome) => void;
  /** Is called with the change in the number of deliveries that wait for their next try. */
  readonly onWaiting?: (change: 1 | -1) => void;
  /** The pause after the first try; it doubles after each. */
  readonly pauseMs?: number;
  /** The timeout of one try. */
  readonly timeoutMs?: number;
};

const timeoutMsDefault = 10_000;
const pauseMsDefault = 250;
/** A receiver that was gone for a night is told a minute after it is back. */
const pauseMsMax = 60_000;
/** A receiver that hangs can hold up this many deliveries. */
const atOnceMax = 8;

/** Resolves when the receiver has taken it; rejects with the reason, and when `signal` fires. */
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
        'webhook not delivered, trying again',
      );
      onWaiting(1);
      await pause(againInMs, undefined, { signal }).finally(() => onWaiting(-1));
    }
  };
}

/** The header's value, over `<timestamp>.<body>`. */
const sign = (secret: string, timestamp: string, body: string): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;

type Answer = { readonly taken: true } | { readonly taken: false; readonly retry: boolean; readonly why: string };

function readStatus(status: number): Answer {
  if (status >= 200 && status < 300) return { taken: true };
  const why = `the receiver answered ${status}${status >= 300 && status < 400 ? ', and redirects are not followed' : ''}`;
  return { taken: false, retry: status === 429 || status >= 500, why };
}

const refusedText =
  'the webhook leads to a private address, which this service does not post to: see escalation.webhook.allowPrivate';

type Sent = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly reach: Reach;
};

/** Resolves to the status. The body of the answer does not matter, and may be endless. */
function send(url: URL, { headers, body, signal, reach }: Sent): Promise<number> {
  return new Promise((resolve, reject) => {
    // An address is not looked up.
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
    sent.on('error', reject); // also after the answer
    sent.end(body);
  });
}

/** User and password go into a header. */
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

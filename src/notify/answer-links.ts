/**
 * Links that answer a request of an agent. A notice of kind `input` sends one to the webhook, and anyone who has it may
 * answer that request (docs/escalations.md). It is signed with a key derived from the webhook's secret, so every
 * replica with that secret accepts it and nothing is stored. Links are never logged.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { PostNotice } from './webhook.ts';

/** Path of the page that a link opens. */
export const answerPath = '/answer';

/** The request that a link answers. `seq` is the request's log sequence, since an agent may reuse its id. */
export type Answerable = {
  readonly fleet: string;
  readonly worker: string;
  readonly request: string;
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly expiresMs: number;
  /** The operator name stored with the answer. */
  readonly by: string;
};

/** A request that waits for an operator from `since` until `expiresMs`. */
type OpenInput = Omit<Answerable, 'by'> & {
  readonly since: string;
  readonly kind: string | null;
  readonly tool: string | null;
  readonly message: string | null;
  readonly detail: string | null;
};

export type AnswerLinks = {
  /** Posts the notice. Resolves when it was delivered, has failed for good, or `signal` fires. Never rejects. */
  notify(input: OpenInput, signal: AbortSignal): Promise<void>;
  /**
   * Reads the query of a link.
   * @throws AppError input.unauthorized if it was altered, entry.refused if it has expired
   */
  read(query: Readonly<Record<string, unknown>>): Answerable;
};

type AnswerLinksOptions = {
  /** The address at which people reach this service. */
  readonly url: string;
  readonly by: string;
  readonly secret: string;
  readonly clock: () => number;
  readonly logger: Logger;
  readonly post: PostNotice;
};

export function createAnswerLinks({ url, by, secret, clock, logger, post }: AnswerLinksOptions): AnswerLinks {
  // A separate key, so that the signature of a webhook's body is never valid for a link.
  const key = createHmac('sha256', secret).update('stopgate answer link').digest();
  const sign = (target: Answerable) =>
    createHmac('sha256', key)
      .update(JSON.stringify(fieldsOf(target)))
      .digest();
  const createLink = (target: Answerable) => {
    const link = new URL(`${url.replace(/\/+$/, '')}${answerPath}`);
    for (const [name, value] of fieldsOf(target)) link.searchParams.set(name, value);
    link.searchParams.set('signature', sign(target).toString('base64url'));
    return link.href;
  };
  return {
    async notify(input, signal) {
      const notice = createNotice(input, createLink({ ...input, by }));
      try {
        await post(notice, signal);
        logger.info({ delivery: notice.delivery }, 'sent a notice of a request that waits for an operator');
      } catch (error) {
        if (signal.aborted) return;
        logger.error(
          { delivery: notice.delivery, why: (error as Error).message },
          'could not send a notice of a request',
        );
      }
    },
    read(query) {
      const given = readFields(query);
      const signature = Buffer.from(typeof query.signature === 'string' ? query.signature : '', 'base64url');
      const expected = given === null ? null : sign(given);
      if (given === null || expected?.length !== signature.length || !timingSafeEqual(expected, signature))
        throw new AppError(
          'input.unauthorized',
          'this link is incomplete, was altered, or was signed with another secret; copy the whole link from the notice',
        );
      if (clock() >= given.expiresMs)
        throw new AppError(
          'entry.refused',
          `this link expired at ${new Date(given.expiresMs).toISOString()}; the agent no longer waits for an answer`,
        );
      return given;
    },
  };
}

/** The signed fields, in signing order. */
const fieldsOf = ({ fleet, worker, request, seq, expiresMs, by }: Answerable): [name: string, value: string][] => [
  ['fleet', fleet],
  ['worker', worker],
  ['request', request],
  ['seq', String(seq)],
  ['expires', String(expiresMs)],
  ['by', by],
];

/** Returns null if a field is missing or repeated. */
function readFields(query: Readonly<Record<string, unknown>>): Answerable | null {
  const { fleet, worker, request, seq, expires, by } = query;
  const isText = (value: unknown) => typeof value === 'string';
  if (!isText(fleet) || !isText(worker) || !isText(request) || !isText(seq) || !isText(expires) || !isText(by))
    return null;
  return { fleet, worker, request, seq: Number(seq), expiresMs: Number(expires), by };
}

/** The body of the webhook. */
function createNotice(input: OpenInput, link: string) {
  const { fleet, worker, request, seq, since, kind, tool, message, detail, expiresMs } = input;
  return {
    v: 1,
    kind: 'input',
    fleet,
    entity: 'worker',
    id: worker,
    since,
    until: new Date(expiresMs).toISOString(),
    reason: [kind === null ? 'asks' : `asks: ${kind}`, tool].filter((part) => part !== null).join(', '),
    request,
    tool,
    message,
    detail,
    link,
    delivery: [fleet, 'worker', worker, 'input', seq, since].join('/'),
  };
}

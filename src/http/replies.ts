/** The common parts of HTTP replies: headers, and errors as `{ error: { code, message, issues } }`. */
import type { FastifyError, FastifyReply } from 'fastify';
import { AppError, type ErrorBody, errorBody, errorCodes } from '../errors.ts';

export const bodyBytesMax = 16 * 1024 * 1024;

/** Replies must not be cached, sniffed, framed or executed. The inspector's page has a separate policy. */
export const commonHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

export function sendError(reply: FastifyReply, error: AppError): FastifyReply {
  const { status } = errorCodes[error.code];
  // Fastify would close the connection of a body that is too large. A client that is still sending would fail to write
  // and never read the answer, so discard the rest of the body instead, until the request times out.
  if (status === 413) reply.removeHeader('connection');
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (error.retryAfterMs !== null) reply.header('retry-after', String(Math.ceil(error.retryAfterMs / 1_000)));
  return reply.headers(commonHeaders).code(status).send(errorBody(error));
}

/** Replies to a bug of ours. The details go to the log, never to the client. */
export function sendInternal(reply: FastifyReply): FastifyReply {
  const body: ErrorBody = { error: { code: 'INTERNAL', message: 'internal error; see the log', issues: [] } };
  return reply.headers(commonHeaders).code(500).send(body);
}

/** Translates Fastify's errors. Returns null if the error is neither ours nor Fastify's, and hence a bug. */
export function toAppError(error: FastifyError | AppError): AppError | null {
  if (error instanceof AppError) return error;
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AppError('media.unsupported', 'a POST must have the content type application/json', { cause: error });
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('payload.large', `the body has more than ${bodyBytesMax} bytes`, { cause: error });
    default: {
      const { statusCode = 500 } = error;
      return statusCode < 500 ? new AppError('input.bad', error.message, { cause: error }) : null;
    }
  }
}

/** Returns a signal that aborts when the client has disconnected or received its answer. */
export function whenClosed({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController();
  raw.once('close', () => closed.abort());
  return closed.signal;
}

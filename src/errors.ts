/** The only error class, and the meaning of each code at every edge. Imports nothing. */

/**
 * `status`: the `Nats-Service-Error-Code` and HTTP status. `exit`: the exit code of the command line. `wire`: the code
 * in the body of an error reply. `retry`: the same call may succeed later.
 */
export const errorCodes = {
  'input.bad': { status: 400, exit: 2, wire: 'BAD_REQUEST', retry: false },
  'input.unauthorized': { status: 401, exit: 2, wire: 'UNAUTHORIZED', retry: false },
  'origin.foreign': { status: 403, exit: 2, wire: 'FORBIDDEN', retry: false },
  'role.lacking': { status: 403, exit: 2, wire: 'FORBIDDEN', retry: false },
  'actor.unknown': { status: 404, exit: 1, wire: 'NOT_FOUND', retry: false },
  'stop.incomplete': { status: 409, exit: 1, wire: 'INCOMPLETE', retry: true },
  'entry.refused': { status: 409, exit: 1, wire: 'REFUSED', retry: false },
  'entry.large': { status: 400, exit: 2, wire: 'TOO_LARGE', retry: false },
  'payload.large': { status: 413, exit: 2, wire: 'BODY_TOO_LARGE', retry: false },
  'media.unsupported': { status: 415, exit: 2, wire: 'UNSUPPORTED_MEDIA_TYPE', retry: false },
  'host.foreign': { status: 421, exit: 2, wire: 'MISDIRECTED', retry: false },
  'check.failed': { status: 500, exit: 1, wire: 'CHECK_FAILED', retry: true },
  'log.lost': { status: 503, exit: 3, wire: 'LOG_LOST', retry: false },
  'rules.unknown': { status: 503, exit: 3, wire: 'RULES_UNKNOWN', retry: false },
  'log.unavailable': { status: 503, exit: 3, wire: 'UNAVAILABLE', retry: true },
  'service.busy': { status: 503, exit: 3, wire: 'UNAVAILABLE', retry: true },
  'service.unreachable': { status: 503, exit: 3, wire: 'UNREACHABLE', retry: true },
  'config.bad': { status: 500, exit: 2, wire: 'BAD_CONFIG', retry: false },
  'stream.foreign': { status: 500, exit: 2, wire: 'FOREIGN_STREAM', retry: false },
  'replica.running': { status: 500, exit: 2, wire: 'REPLICA_RUNNING', retry: false },
  'server.missing': { status: 500, exit: 3, wire: 'NO_NATS_SERVER', retry: false },
} as const;
export type ErrorCode = keyof typeof errorCodes;

/** `path` is the position in a value; `line` and `column` are that in a text. */
export type ErrorIssue = {
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
};
type Options = { readonly cause?: unknown; readonly issues?: readonly ErrorIssue[]; readonly details?: object };
/** Delays for errors that get worse if clients retry at once. Clients should add a random part. */
const retryAfterMs: Partial<Record<ErrorCode, number>> = { 'service.busy': 1_000, 'log.unavailable': 2_000 };

export class AppError extends Error {
  /** The name under which the client exports it, also when it is printed. */
  static override readonly name: string = 'StopgateError';
  override readonly name: string = 'StopgateError';
  readonly code: ErrorCode;
  readonly issues: readonly ErrorIssue[];
  /** Additional fields of the reply's body, such as the decision of `stop.incomplete`. */
  readonly details: object;

  /** How long a client should wait before a retry, in milliseconds; null for no hint. */
  get retryAfterMs(): number | null {
    return retryAfterMs[this.code] ?? null;
  }

  constructor(code: ErrorCode, message: string, { cause, issues = [], details = {} }: Options = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.issues = issues;
    this.details = details;
  }
}

export type ErrorBody = {
  error: { code: string; message: string; issues: readonly ErrorIssue[]; retryAfterMs?: number };
};

/** Creates the body of an error reply, on NATS and HTTP. */
export function errorBody({ code, message, issues, details, retryAfterMs }: AppError): ErrorBody {
  const hint = retryAfterMs === null ? {} : { retryAfterMs };
  return { error: { code: errorCodes[code].wire, message, issues, ...hint }, ...details };
}

/** Reads the error of a reply. The wire name determines the code. */
export function readErrorBody(body: unknown, status: number): AppError {
  const { error, ...details } = (typeof body === 'object' && body !== null ? body : {}) as Partial<ErrorBody>;
  const known = (Object.keys(errorCodes) as ErrorCode[]).find((code) => errorCodes[code].wire === error?.code);
  const byStatus = status === 503 ? 'log.unavailable' : 'input.bad';
  return new AppError(known ?? byStatus, error?.message ?? `the service answered ${status}`, {
    issues: error?.issues ?? [],
    details,
  });
}

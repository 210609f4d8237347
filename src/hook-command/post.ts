/** Posts one hook call, or one question, to the service, and reads the reply. */
import { connect, isIP, type Socket } from 'node:net';

export type Posted =
  | { readonly kind: 'answer'; readonly body: object | null }
  /** Nothing was judged: no service was reached, or it could not judge. */
  | Unreachable
  /** The service refused the call. A retry would not help. */
  | { readonly kind: 'rejected'; readonly why: string };

type Unreachable = {
  readonly kind: 'unreachable';
  readonly why: string;
  readonly refused: boolean;
  /** The service may have got the call: the connection broke before the answer. */
  readonly lost: boolean;
};

type Call = {
  readonly url: string;
  readonly token: string | undefined;
  /** Identifies the call across retries: see `newKey`. */
  readonly key?: string;
  /** Identifies the hook's line, so that the service can tell sets of hooks apart. */
  readonly line?: string;
  /** Null for a GET. */
  readonly body: Buffer | null;
  readonly timeoutMs: number;
  /** Aborts the call when nobody waits for the answer any longer. */
  readonly signal?: AbortSignal;
};

const answerBytesMax = 1024 * 1024;
const retryEveryMs = 250;
const refusedCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/**
 * Creates an idempotency key for a call. It needs no module: two processes with the same id never share a time of the
 * monotonic clock.
 */
export const newKey = (): string =>
  [process.pid, process.hrtime.bigint(), Math.random()].map((part) => part.toString(36).replace('.', '')).join('-');

type Tries = {
  /** How long to retry after the first attempt. */
  readonly forMs: number;
  /** Whether to retry even if no service is reachable. */
  readonly whileAway: boolean;
};

/** Retries if the answer was lost: the call may have counted, and the service has stored its answer. */
export async function postAgain(
  first: Posted,
  send: () => Promise<Posted>,
  { forMs, whileAway }: Tries,
): Promise<Posted> {
  if (first.kind !== 'unreachable' || !(whileAway || first.lost)) return first;
  const untilMs = nowMs() + forMs;
  let posted: Posted = first;
  while (posted.kind === 'unreachable' && nowMs() + retryEveryMs < untilMs) {
    await new Promise((done) => setTimeout(done, retryEveryMs));
    posted = await send();
  }
  return posted;
}

/** Replaces `performance`, a module that would need loading. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/**
 * Never rejects. Speaks HTTP/1.0 without a library: one request, and an answer that ends with the connection. Loading
 * Node's own client would add three milliseconds to each tool call.
 */
export async function post(call: Call): Promise<Posted> {
  const { protocol, hostname, port, host, origin } = new URL(call.url);
  const name = hostname.replace(/^\[|\]$/g, '');
  let lost = false;
  const unreachable = (why: string, refused = false): Posted => ({ kind: 'unreachable', why, refused, lost });
  let socket: Socket;
  if (protocol === 'https:') {
    const tls = await import('node:tls');
    // An IP address cannot be a server name (RFC 6066). The certificate is checked against it anyway.
    socket = tls.connect({ host: name, port: Number(port || 443), ...(isIP(name) === 0 ? { servername: name } : {}) });
  } else socket = connect({ host: name, port: Number(port || 80) });
  return new Promise<Posted>((resolve) => {
    const end = (posted: Posted) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(posted);
    };
    // Nobody waits for the answer any longer, so it is not retried.
    const giveUp = (why: string) => {
      lost = false;
      end(unreachable(why));
    };
    const timer = setTimeout(
      () => giveUp(`${origin} did not answer within ${Math.round(call.timeoutMs / 100) / 10} s`),
      call.timeoutMs,
    );
    call.signal?.addEventListener('abort', () => giveUp('the agent gave up'), { once: true });
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => (lost = true));
    const chunks: Buffer[] = [];
    let size = 0;
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > answerBytesMax) end(unreachable(`the server at ${origin} is not stopgate`));
    });
    socket.on('end', () => end(readResponse(Buffer.concat(chunks), origin)));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // The service may have answered before it closed the connection because of the body.
      const answered = chunks.length > 0 ? readResponse(Buffer.concat(chunks), origin) : null;
      const refused = refusedCodes.has(error.code ?? '');
      const why = refused ? `no service at ${origin}` : `${origin}: ${error.code ?? error.message}`;
      end(answered ?? unreachable(why, refused));
    });
    socket.write(headOf(call, host));
    if (call.body !== null) socket.write(call.body);
  });
}

function headOf({ url, token, key, line, body }: Call, host: string): string {
  const { pathname, search } = new URL(url);
  const lines = [
    `${body === null ? 'GET' : 'POST'} ${pathname}${search} HTTP/1.0`,
    `host: ${host}`,
    ...(body === null ? [] : ['content-type: application/json', `content-length: ${body.length}`]),
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    ...(key === undefined ? [] : [`idempotency-key: ${key}`]),
    ...(line === undefined ? [] : [`user-agent: stopgate-hook ${line}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function readResponse(bytes: Buffer, where: string): Posted {
  const headEnd = bytes.indexOf('\r\n\r\n');
  const head = bytes.toString('latin1', 0, Math.max(0, headEnd));
  const body = bytes.subarray(headEnd + 4);
  const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(head)?.[1]);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (headEnd < 0 || Number.isNaN(status) || (length !== undefined && body.length < Number(length)))
    return { kind: 'unreachable', why: `the answer from ${where} is incomplete`, refused: false, lost: true };
  return readAnswer(status, body.toString('utf8').trim(), where);
}

function readAnswer(status: number, text: string, where: string): Posted {
  if (status === 204) return { kind: 'answer', body: null };
  const body = parse(text);
  if (status === 200 && body !== null) return { kind: 'answer', body };
  const answered = { kind: 'unreachable', refused: false, lost: false } as const;
  if (status === 200) return { ...answered, why: `the server at ${where} is not stopgate` };
  const { error } = (body ?? {}) as { error?: { message?: unknown } };
  const detail = typeof error?.message === 'string' ? `: ${error.message.slice(0, 300)}` : '';
  const why = `${where} answered ${status}${detail}`;
  // A wrong token, host or port affects every call. Any other status below 500 affects only this one.
  const isAddress = status === 401 || status === 403 || status === 421;
  return status >= 400 && status < 500 && !isAddress ? { kind: 'rejected', why } : { ...answered, why };
}

function parse(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

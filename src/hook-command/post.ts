/** Posts one hook call, or one question, to the service. */
import { connect, isIP, type Socket } from 'node:net';

export type Posted =
  | { readonly kind: 'answer'; readonly body: object | null }
  /** Nothing was judged: there is no service, or it could not judge. */
  | { readonly kind: 'unreachable'; readonly why: string; readonly refused: boolean }
  /** The service has refused the call: a retry would not help. */
  | { readonly kind: 'rejected'; readonly why: string };

type Call = {
  readonly url: string;
  readonly token: string | undefined;
  /** Null: a GET. */
  readonly body: Buffer | null;
  readonly timeoutMs: number;
  /** Aborted: nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
};

const answerBytesMax = 1024 * 1024;
const refusedCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/**
 * Never rejects. HTTP/1.0 by hand: one request, and an answer that ends with the connection. Node's own client would take
 * three milliseconds of each tool call to load.
 */
export async function post(call: Call): Promise<Posted> {
  const { protocol, hostname, port, host, origin } = new URL(call.url);
  const name = hostname.replace(/^\[|\]$/g, '');
  const unreachable = (why: string, refused = false): Posted => ({ kind: 'unreachable', why, refused });
  let socket: Socket;
  if (protocol === 'https:') {
    const tls = await import('node:tls');
    // An address is no server name (RFC 6066); the certificate is held against it all the same.
    socket = tls.connect({ host: name, port: Number(port || 443), ...(isIP(name) === 0 ? { servername: name } : {}) });
  } else socket = connect({ host: name, port: Number(port || 80) });
  return new Promise<Posted>((resolve) => {
    const end = (posted: Posted) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(posted);
    };
    const timer = setTimeout(
      () => end(unreachable(`no answer from ${origin} within ${Math.round(call.timeoutMs / 100) / 10} s`)),
      call.timeoutMs,
    );
    call.signal?.addEventListener('abort', () => end(unreachable('the agent gave up')), { once: true });
    const chunks: Buffer[] = [];
    let size = 0;
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > answerBytesMax) end(unreachable(`what answers at ${origin} is not stopgate`));
    });
    socket.on('end', () => end(readResponse(Buffer.concat(chunks), origin)));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // The service may have answered before it closed the connection on a body that it does not accept.
      const answered = chunks.length > 0 ? readResponse(Buffer.concat(chunks), origin) : null;
      const refused = refusedCodes.has(error.code ?? '');
      const why = refused ? `no service at ${origin}` : `${origin}: ${error.code ?? error.message}`;
      end(answered ?? unreachable(why, refused));
    });
    socket.write(headOf(call, host));
    if (call.body !== null) socket.write(call.body);
  });
}

function headOf({ url, token, body }: Call, host: string): string {
  const { pathname, search } = new URL(url);
  const lines = [
    `${body === null ? 'GET' : 'POST'} ${pathname}${search} HTTP/1.0`,
    `host: ${host}`,
    ...(body === null ? [] : ['content-type: application/json', `content-length: ${body.length}`]),
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
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
    return { kind: 'unreachable', why: `the answer of ${where} was cut off`, refused: false };
  return readAnswer(status, body.toString('utf8').trim(), where);
}

function readAnswer(status: number, text: string, where: string): Posted {
  if (status === 204) return { kind: 'answer', body: null };
  const body = parse(text);
  if (status === 200 && body !== null) return { kind: 'answer', body };
  if (status === 200) return { kind: 'unreachable', why: `what answers at ${where} is not stopgate`, refused: false };
  const { error } = (body ?? {}) as { error?: { message?: unknown } };
  const detail = typeof error?.message === 'string' ? `: ${error.message.slice(0, 300)}` : '';
  const why = `${where} answered ${status}${detail}`;
  // A wrong token, Host or port concerns every call. Any other status below 500 concerns this one.
  const isAddress = status === 401 || status === 403 || status === 421;
  return status >= 400 && status < 500 && !isAddress
    ? { kind: 'rejected', why }
    : { kind: 'unreachable', why, refused: false };
}

function parse(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

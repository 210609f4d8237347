/** Raw HTTP requests: `fetch` would set Host and Origin itself, which these tests must control. */
import { type IncomingHttpHeaders, request } from 'node:http';

export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: unknown;
};
type Ask = {
  readonly method?: string;
  readonly headers?: Record<string, string | number>;
  /** An object is sent as JSON with its content type, a string as it is. */
  readonly body?: object | string;
  /** Resolves when the server has the request and has sent `100 Continue`. */
  readonly onTaken?: () => void;
};

export function ask(url: string, path: string, { method, headers = {}, body, onTaken }: Ask = {}): Promise<Answer> {
  const isJson = typeof body === 'object';
  const payload = isJson ? JSON.stringify(body) : body;
  const verb = method ?? (body === undefined ? 'GET' : 'POST');
  const expected = onTaken === undefined ? {} : { expect: '100-continue' };
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: hostname,
        port,
        path,
        method: verb,
        agent: false,
        headers: { ...(isJson ? json : {}), ...expected, ...headers },
      },
      (reply) => {
        const parts: Buffer[] = [];
        reply.on('data', (part: Buffer) => parts.push(part));
        reply.on('end', () => {
          const text = Buffer.concat(parts).toString('utf8');
          const isJsonReply = reply.headers['content-type']?.startsWith('application/json') === true;
          const parsed: unknown = isJsonReply ? JSON.parse(text) : null;
          resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text, json: parsed });
        });
        reply.on('error', reject);
      },
    );
    sent.on('error', reject).on('continue', () => onTaken?.());
    sent.end(payload);
  });
}

const json = { 'content-type': 'application/json' };

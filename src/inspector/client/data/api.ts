/** Requests to the service that served this page. The session is a cookie that scripts cannot read. */
import { signal } from '@preact/signals';

export type Issue = {
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
};

/** `status` 0: no response. */
export class ApiError extends Error {
  readonly status: number;
  readonly issues: readonly Issue[];
  constructor(status: number, message: string, issues: readonly Issue[] = []) {
    super(message);
    this.status = status;
    this.issues = issues;
  }
}

/** The fleet of this service; '' until it is known. */
export const fleet = signal('');
/** The service requires a token for reading. */
export const locked = signal(false);

export const apiPath = (path: string): string => `/api/${encodeURIComponent(fleet.value)}/${path}`;

/** Asks the service for its fleet. @throws ApiError */
export async function identifyService(): Promise<void> {
  const service = await request<{ fleet: string }>('GET', '/api');
  fleet.value = service.fleet;
  locked.value = false;
}

export const get = <Body>(path: string, signal?: AbortSignal): Promise<Body> =>
  request('GET', apiPath(path), undefined, signal);
export const post = <Body>(path: string, body: object): Promise<Body> => request('POST', apiPath(path), body);

/** Opens a session. @throws ApiError 401: wrong token */
export async function signIn(token: string): Promise<void> {
  const authorization = { authorization: `Bearer ${token}` };
  if (fleet.value === '') {
    const service = await request<{ fleet: string }>('GET', '/api', undefined, undefined, authorization);
    fleet.value = service.fleet;
  }
  await request('POST', apiPath('session'), { token }, undefined, authorization);
  locked.value = false;
}

export const signOut = (): Promise<unknown> => request('DELETE', apiPath('session'));

async function request<Body>(
  method: string,
  path: string,
  body?: object,
  signal?: AbortSignal,
  headers: Record<string, string> = {},
): Promise<Body> {
  const response = await fetch(path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((cause: Error) => {
    if (cause.name === 'AbortError') throw cause;
    throw new ApiError(0, 'the service does not respond; is it still running?');
  });
  const text = await response.text();
  const reply = text === '' ? null : JSON.parse(text);
  if (response.ok) return reply;
  if (response.status === 401 && method === 'GET') locked.value = true;
  throw new ApiError(
    response.status,
    reply?.error?.message ?? `the service replied with status ${response.status}`,
    reply?.error?.issues,
  );
}

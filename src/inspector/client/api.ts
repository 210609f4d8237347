/** Requests to the service that served this page. The session is a cookie that no script can read. */
import { signal } from '@preact/signals';

export type Issue = {
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
};

export class ApiError extends Error {
  readonly status: number;
  readonly issues: readonly Issue[];
  constructor(status: number, message: string, issues: readonly Issue[] = []) {
    super(message);
    this.status = status;
    this.issues = issues;
  }
}

/** The fleet of this service; '' until it has told. */
export const fleet = signal('');
/** The service wants a token before it tells anything. */
export const locked = signal(false);

export const apiPath = (path: string): string => `/api/${encodeURIComponent(fleet.value)}/${path}`;

/** Who serves here. @throws ApiError */
export async function meet(): Promise<void> {
  const answer = await request<{ fleet: string }>('GET', '/api');
  fleet.value = answer.fleet;
  locked.value = false;
}

export const get = <Answer>(path: string, signal?: AbortSignal): Promise<Answer> =>
  request('GET', apiPath(path), undefined, signal);
export const post = <Answer>(path: string, body: object): Promise<Answer> => request('POST', apiPath(path), body);

/** Opens a session. @throws ApiError 401: not this token */
export async function signIn(token: string): Promise<void> {
  const authorization = { authorization: `Bearer ${token}` };
  if (fleet.value === '') {
    const answer = await request<{ fleet: string }>('GET', '/api', undefined, undefined, authorization);
    fleet.value = answer.fleet;
  }
  await request('POST', apiPath('session'), { token }, undefined, authorization);
  locked.value = false;
}

export const signOut = (): Promise<unknown> => request('DELETE', apiPath('session'));

async function request<Answer>(
  method: string,
  path: string,
  body?: object,
  signal?: AbortSignal,
  more: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...more,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((cause: Error) => {
    if (cause.name === 'AbortError') throw cause;
    throw new ApiError(0, 'the service does not answer; is it still running?');
  });
  const text = await response.text();
  const answer = text === '' ? null : JSON.parse(text);
  if (response.ok) return answer;
  if (response.status === 401 && method === 'GET') locked.value = true;
  throw new ApiError(
    response.status,
    answer?.error?.message ?? `the service answered ${response.status}`,
    answer?.error?.issues,
  );
}

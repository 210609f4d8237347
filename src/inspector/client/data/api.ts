/** Requests to the service that served this page. The session is a cookie that scripts cannot read. */
import { signal } from '@preact/signals';
import { fleetInAddress } from '../route.ts';
import { basePath } from './base-path.ts';

export type Issue = {
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
};

/** `status` is the HTTP status, or 0 if there was no response. */
export class ApiError extends Error {
  readonly status: number;
  readonly issues: readonly Issue[];
  constructor(status: number, message: string, issues: readonly Issue[] = []) {
    super(message);
    this.status = status;
    this.issues = issues;
  }
}

/** The fleet shown: the one in the address, otherwise the service's. '' until it is known. */
export const fleet = signal('');
/** All fleets of the service. */
export const fleets = signal<readonly string[]>([]);
/** Whether the service requires a token for reading. */
export const locked = signal(false);

export const apiPath = (path: string): string => `${basePath()}api/${encodeURIComponent(fleet.value)}/${path}`;

type Service = { readonly fleet: string | null; readonly fleets: readonly string[] };

/** @throws ApiError if there is no fleet yet */
function readService(service: Service): void {
  const shown = fleetInAddress ?? service.fleet ?? service.fleets[0];
  if (shown === undefined) throw new ApiError(404, 'this service serves no fleet yet');
  fleets.value = service.fleets;
  fleet.value = shown;
}

/** Asks the service for its fleets. @throws ApiError */
export async function identifyService(): Promise<void> {
  readService(await request('GET', `${basePath()}api`));
  locked.value = false;
}

export const get = <Body>(path: string, signal?: AbortSignal): Promise<Body> =>
  request('GET', apiPath(path), undefined, signal);
export const post = <Body>(path: string, body: object): Promise<Body> => request('POST', apiPath(path), body);

/** Opens a session. @throws ApiError with status 401 for a wrong token */
export async function signIn(token: string): Promise<void> {
  const authorization = { authorization: `Bearer ${token}` };
  if (fleet.value === '') {
    readService(await request('GET', `${basePath()}api`, undefined, undefined, authorization));
  }
  await request('POST', apiPath('session'), { token }, undefined, authorization);
  locked.value = false;
}

export const signOut = (): Promise<unknown> => request('DELETE', apiPath('session'));

export type Progress = { readonly done: number; readonly total: number };

/**
 * Sends a request that may take long. Aborting `signal` also stops the work on the service. @throws ApiError,
 * AbortError
 */
export async function askPatiently<Body>(
  path: string,
  body: object | undefined,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<Body> {
  const response = await send(body === undefined ? 'GET' : 'POST', apiPath(path), body, signal, {
    accept: 'application/x-ndjson',
  });
  if (!response.ok || response.body === null) throw await toApiError(response);
  let result: { readonly body: Body } | null = null;
  for await (const line of linesOf(response.body)) {
    const { progress, error, ...rest } = JSON.parse(line);
    if (progress !== undefined) onProgress(progress);
    else if (error !== undefined) throw new ApiError(503, error.message, error.issues);
    else result = { body: rest.result };
  }
  if (result === null) throw new ApiError(0, 'the connection was lost; try again');
  return result.body;
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    yield* lines;
  }
}

async function request<Body>(
  method: string,
  path: string,
  body?: object,
  signal?: AbortSignal,
  headers: Record<string, string> = {},
): Promise<Body> {
  const response = await send(method, path, body, signal, headers);
  if (response.status === 401 && method === 'GET') locked.value = true;
  if (!response.ok) throw await toApiError(response);
  const text = await response.text();
  return (text === '' ? null : JSON.parse(text)) as Body;
}

const send = (
  method: string,
  path: string,
  body: object | undefined,
  signal: AbortSignal | undefined,
  headers: Record<string, string>,
): Promise<Response> =>
  fetch(path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    // Operator actions are sent even if the page is being closed.
    ...(path.includes('/operator/') ? { keepalive: true } : {}),
    ...(signal === undefined ? {} : { signal }),
  }).catch((cause: Error) => {
    if (cause.name === 'AbortError') throw cause;
    throw new ApiError(0, 'the service does not respond; is it still running?');
  });

async function toApiError(response: Response): Promise<ApiError> {
  const reply = await response.json().catch(() => null);
  const message = reply?.error?.message ?? `the service replied with status ${response.status}`;
  return new ApiError(response.status, message, reply?.error?.issues);
}

/** Fake models on loopback for dry turns. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { tryJson } from '../../text/json-text.ts';

/** A server on a free loopback port. */
export type Loopback = { readonly url: string; close(): Promise<void> };
type Request = {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** The bearer token, or null. */
  readonly token: string | null;
};
type Responder = (request: Request, response: ServerResponse) => void;

export async function openLoopback(answer: Responder): Promise<Loopback> {
  const server = createServer((request, response) => {
    void readJson(request).then((body) =>
      answer({ method: request.method ?? '', path: request.url ?? '/', body, token: tokenOf(request) }, response),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const tokenOf = ({ headers }: IncomingMessage): string | null =>
  /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? null;

async function readJson(request: IncomingMessage): Promise<unknown> {
  return tryJson(await text(request).catch(() => ''));
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Sends server-sent events. An object with a `type` gets an `event:` line; a string is sent unchanged. */
export function sendEvents(response: ServerResponse, events: readonly (object | string)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const event of events) {
    const name = typeof event === 'object' && 'type' in event ? `event: ${event.type}\n` : '';
    response.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  }
  response.end();
}

/** A model that only says "I stop here." and records its requests. */
export type FakeModel = Loopback & {
  /** The requests of the agent's turns as JSON text, without auxiliary ones such as titles. */
  readonly turns: readonly string[];
};

export type ModelRequest = { model?: string; stream?: boolean; tools?: unknown[] };

/** One vendor's API. */
type ModelApi = {
  readonly isTurn: (path: string) => boolean;
  /** The answer to any other request. */
  readonly other: (path: string) => object;
  /** `count` is the number of this request, starting at 1. */
  readonly answerTurn: (response: ServerResponse, request: ModelRequest, count: number, path: string) => void;
};

export const modelText = 'I stop here.';

export async function openFakeModel({ isTurn, other, answerTurn }: ModelApi): Promise<FakeModel> {
  const turns: string[] = [];
  let count = 0;
  const server = await openLoopback(({ method, path, body }, response) => {
    if (method !== 'POST' || !isTurn(path)) return sendJson(response, 200, other(path));
    const request = (body ?? {}) as ModelRequest;
    count += 1;
    if ((request.tools?.length ?? 0) > 0) turns.push(JSON.stringify(request));
    answerTurn(response, request, count, path);
  });
  return { ...server, turns };
}

/** A fake model with OpenAI's chat completions API, for which several agents accept any address. */
export const openChatCompletionsModel = (): Promise<FakeModel> =>
  openFakeModel({
    isTurn: (path) => path.includes('/chat/completions'),
    other: () => ({ object: 'list', data: [] }),
    answerTurn,
  });

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

function answerTurn(response: ServerResponse, { model = 'fake', stream }: ModelRequest, count: number): void {
  const head = { id: `chat-${count}`, created: 0, model };
  const message = { role: 'assistant', content: modelText };
  if (stream !== true) {
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    sendJson(response, 200, { ...head, object: 'chat.completion', choices, usage });
    return;
  }
  const chunk = (choices: readonly object[], more: object = {}) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices,
    ...more,
  });
  sendEvents(response, [
    chunk([{ index: 0, delta: message, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
    chunk([], { usage }),
    '[DONE]',
  ]);
}

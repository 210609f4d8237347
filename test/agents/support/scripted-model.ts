/** A model that says what a test wants, in one of several wire formats: one scripted turn for each request of a lane. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What the model says next: a last word, a tool that it calls, or an error of the API. `before` is waited for first. */
export type Turn = { readonly before?: () => unknown } & (
  | { readonly text: string }
  | { readonly tool: string; readonly input: object }
  | { readonly status: number }
);
/** A conversation of its own, a sub-agent's say: every request whose body has `match` in it. */
export type Lane = { readonly name: string; readonly match: string; readonly turns: readonly Turn[] };

export type ModelRequest = {
  readonly lane: string;
  /** What the agent has said since the model's last turn: prompts, results of tools, words of hooks. */
  readonly said: string;
};
export type ScriptedModel = {
  readonly url: string;
  /** The agent's turns so far; what it asks beside them (titles, summaries) is answered and left out. */
  requestsOf(lane?: string): readonly ModelRequest[];
  close(): Promise<void>;
};

export type Body = Readonly<Record<string, unknown>>;
export type WireFormat = {
  isTurn(body: Body): boolean;
  said(body: Body): string;
  /** Is this a request of the model at all? Others get 404, which agents take. */
  isForModel(path: string): boolean;
  send(response: ServerResponse, turn: Exclude<Turn, { status: number }>, about: About): void;
};
type About = { readonly body: Body; readonly path: string; readonly id: number };
export type Script = { readonly turns: readonly Turn[]; readonly lanes?: readonly Lane[] };

/** After the last turn it says "no more turns", so that a test sees it and the agent ends. */
export async function startScriptedModel(wire: WireFormat, { turns, lanes = [] }: Script): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  const requestsOf = (lane = 'main') => requests.filter((request) => request.lane === lane);
  let id = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const raw = await text(request);
    if (request.method !== 'POST' || !wire.isForModel(path)) return sendJson(response, 404, {});
    const body = JSON.parse(raw) as Body;
    id += 1;
    const about = { body, path, id };
    const own = lanes.find(({ match }) => raw.includes(match));
    if (own === undefined && !wire.isTurn(body)) return wire.send(response, { text: 'ok' }, about);
    const lane = own?.name ?? 'main';
    const turn = (own?.turns ?? turns)[requestsOf(lane).length] ?? { text: 'no more turns' };
    requests.push({ lane, said: wire.said(body) });
    await turn.before?.();
    if ('status' in turn) return sendJson(response, turn.status, { error: { message: 'scripted failure' } });
    wire.send(response, turn, about);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => sendJson(response, 400, { error: String(error) }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requestsOf,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

export function sendEvents(response: ServerResponse, events: readonly (object | string)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  response.end();
}

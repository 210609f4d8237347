/** A model that says what a test wants: Anthropic's Messages API on loopback, one scripted turn for each request. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What the model says next: a last word, or a tool that it calls. */
export type Turn = { readonly text: string } | { readonly tool: string; readonly input: object };

export type ModelRequest = {
  /** Names of the tools that the agent offers. */
  readonly tools: readonly string[];
  readonly system: string;
  /** What the agent has said since the model's last turn: prompts, results of tools, words of hooks. */
  readonly said: string;
};
export type FakeModel = {
  readonly url: string;
  /** Requests of the agent's loop so far; those without tools (titles, summaries) are answered and left out. */
  readonly requests: readonly ModelRequest[];
  close(): Promise<void>;
};

type Message = { readonly role: string; readonly content: unknown };
type Body = {
  readonly model?: string;
  readonly stream?: boolean;
  readonly system?: unknown;
  readonly tools?: readonly { readonly name: string }[];
  readonly messages?: readonly Message[];
};

/** After the last turn it says "no more turns", so that a test sees it and the agent ends. */
export async function startFakeModel(turns: readonly Turn[]): Promise<FakeModel> {
  const requests: ModelRequest[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const raw = await text(request);
    if (path.startsWith('/v1/messages/count_tokens')) return sendJson(response, 200, { input_tokens: 1 });
    if (request.method !== 'POST' || !path.startsWith('/v1/messages')) return sendJson(response, 404, {});
    const body = JSON.parse(raw) as Body;
    const isLoop = (body.tools ?? []).length > 0;
    const turn = isLoop ? (turns[requests.length] ?? { text: 'no more turns' }) : { text: 'ok' };
    if (isLoop) requests.push(read(body));
    sendTurn(response, body, turn, `${requests.length}`);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => sendJson(response, 400, { error: String(error) }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function read({ tools = [], system, messages = [] }: Body): ModelRequest {
  const since = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  return {
    tools: tools.map(({ name }) => name),
    system: wordsIn(system),
    said: messages
      .slice(since)
      .map(({ content }) => wordsIn(content))
      .join('\n'),
  };
}

/** Text out of the blocks in which the API carries it. */
function wordsIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(wordsIn).join('\n');
  const { text: words, content: inner } = (content ?? {}) as { text?: unknown; content?: unknown };
  return wordsIn(words ?? inner ?? '');
}

function sendTurn(response: ServerResponse, body: Body, turn: Turn, id: string): void {
  const isTool = 'tool' in turn;
  const stop = { stop_reason: isTool ? 'tool_use' : 'end_turn', stop_sequence: null };
  const block = isTool
    ? { type: 'tool_use', id: `toolu_${id}`, name: turn.tool, input: turn.input }
    : { type: 'text', text: turn.text };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model: body.model, usage };
  if (body.stream !== true) {
    sendJson(response, 200, { ...message, ...stop, content: [block] });
    return;
  }
  const delta = isTool
    ? { type: 'input_json_delta', partial_json: JSON.stringify(turn.input) }
    : { type: 'text_delta', text: turn.text };
  const begun = isTool ? { ...block, input: {} } : { type: 'text', text: '' };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
    { type: 'content_block_start', index: 0, content_block: begun },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: stop, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ])
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

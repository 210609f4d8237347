/** A model on loopback with a scripted turn for each request. Each API has its own module. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { openLoopbackServer } from '../../../support/loopback-server.ts';

export type ToolCall = {
  readonly tool: string;
  readonly input: object;
  /** Codex groups some of its tools in a namespace. */
  readonly namespace?: string;
};
/** A reply of the model: a final text or tool calls. `before` runs first, while the agent waits. */
export type Reply = ({ readonly text: string } | ToolCall | { readonly calls: readonly ToolCall[] }) & {
  readonly before?: () => unknown;
};
/** Or an error of its API. */
export type Turn = Reply | { readonly status: number; readonly error?: object; readonly before?: () => unknown };
/** A conversation besides the main one, such as a sub-agent's. Its requests contain `match`. */
export type Conversation = { readonly match: string; readonly turns: readonly Turn[] };

export type ModelRequest = {
  /** The names of the tools that the agent offers. */
  readonly tools: readonly string[];
  /** Everything sent since the model's last turn: prompts, tool results, hook texts. */
  readonly input: string;
};
export type ScriptedModel = {
  readonly url: string;
  /** Requests of the agent's main loop so far. Requests without tools (titles, summaries) are answered and omitted. */
  readonly requests: readonly ModelRequest[];
  /** The requests of a conversation, by its `match`. */
  conversation(match: string): readonly ModelRequest[];
};

/** How an API transports requests and turns. */
export type Api = {
  readonly isTurn: (path: string) => boolean;
  /** The reply to other requests, such as the list of models. Null replies "not found", which agents accept. */
  readonly other?: (path: string) => object | null;
  readonly read: (body: object) => ModelRequest;
  readonly send: (response: ServerResponse, turn: Reply, about: About) => void;
};
export type About = { readonly body: object; readonly path: string; readonly id: string };

/**
 * Runs until the test ends. After the last turn it replies "no more turns", which a test can see and the agent ends on.
 */
export async function scriptModel(
  api: Api,
  turns: readonly Turn[],
  conversations: readonly Conversation[] = [],
): Promise<ScriptedModel> {
  const main: Conversation = { match: '', turns };
  const heard = new Map<Conversation, ModelRequest[]>(
    [main, ...conversations].map((conversation) => [conversation, []]),
  );
  let count = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const raw = await text(request);
    if (request.method !== 'POST' || !api.isTurn(path)) {
      const other = api.other?.(path) ?? null;
      return sendJson(response, other === null ? 404 : 200, other ?? {});
    }
    const body = JSON.parse(raw) as object;
    count += 1;
    const about = { body, path, id: `${count}` };
    const read = api.read(body);
    if (read.tools.length === 0) return api.send(response, { text: 'ok' }, about);
    const conversation = conversations.find(({ match }) => raw.includes(match)) ?? main;
    const requests = heard.get(conversation) ?? [];
    const turn = conversation.turns[requests.length] ?? { text: 'no more turns' };
    requests.push(read);
    await turn.before?.();
    if ('status' in turn) return sendJson(response, turn.status, turn.error ?? failure);
    api.send(response, turn, about);
  };
  const { origin, close } = await openLoopbackServer((request, response) => {
    answer(request, response).catch((error: unknown) => sendJson(response, 400, { error: String(error) }));
  });
  onTestFinished(close);
  return {
    url: origin,
    requests: heard.get(main) ?? [],
    conversation: (match) => [...heard].find(([conversation]) => conversation.match === match)?.[1] ?? [],
  };
}

const failure = { error: { message: 'scripted failure' } };

/** The tools that a turn calls. Empty for a final text. */
export function callsOf(turn: Reply): readonly ToolCall[] {
  if ('calls' in turn) return turn.calls;
  return 'tool' in turn ? [turn] : [];
}

/** The text of an API's content blocks. */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(textIn).join('\n');
  const { text: words, content: inner, output } = (content ?? {}) as Record<string, unknown>;
  return textIn(words ?? inner ?? output ?? '');
}

export function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Sends server-sent events, with an `event:` line if they have a type. */
export function sendEvents(response: ServerResponse, events: readonly (object | string)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    const name = typeof event === 'object' && 'type' in event ? `event: ${event.type}\n` : '';
    response.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  }
  response.end();
}

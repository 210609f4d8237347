/** A model on loopback that judges: it speaks both APIs, and notes what it was asked. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { openLoopbackServer } from './loopback-server.ts';

type Asked = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: the body of either API
  readonly body: any;
  /** The system prompt and the material, of either API. */
  readonly system: string;
  readonly user: string;
};
/** A verdict, or what else is done with the request. */
export type Answer = { readonly pass: boolean; readonly reason: string } | ((response: ServerResponse) => void);

export const replies =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** A chat completion with this content. */
export const completion = (content: unknown, more: object = {}) => ({
  ...{ id: 'c1', object: 'chat.completion', model: 'm' },
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content }, ...more }],
  usage: { prompt_tokens: 120, completion_tokens: 30, prompt_tokens_details: { cached_tokens: 20 } },
});

/** A message of Anthropic's API that calls the tool with this input. */
export const message = (input: unknown, more: object = {}) => ({
  ...{ id: 'm1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'tool_use' },
  content: [
    { type: 'text', text: 'I look at the changes.' },
    { type: 'tool_use', id: 't1', name: 'verdict', input },
  ],
  usage: { input_tokens: 100, output_tokens: 30, cache_read_input_tokens: 20, cache_creation_input_tokens: 10 },
  ...more,
});

/** Gives the answers in turn, and the last one again and again. It ends with the test, or by `close`. */
export async function openJudge(answers: readonly Answer[], { endsWithTest = true } = {}) {
  const asked: Asked[] = [];
  const { origin, close } = await openLoopbackServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    const { url: path = '', headers } = request;
    const isMessages = path.split('?')[0]?.endsWith('/messages') === true;
    const system = isMessages ? body.system : body.messages[0].content;
    asked.push({ path, headers, body, system, user: body.messages.at(-1).content });
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    if (typeof answer === 'function') answer(response);
    else replies(200, isMessages ? message(answer) : completion(JSON.stringify(answer)))(response);
  });
  if (endsWithTest) onTestFinished(close);
  return { asked, origin, close };
}

/** OpenAI's chat completions, scripted: for Copilot CLI and OpenCode. */
import type { ServerResponse } from 'node:http';
import {
  type About,
  type Api,
  callsOf,
  type ModelRequest,
  type Reply,
  sendEvents,
  sendJson,
  textIn,
} from './scripted-model.ts';

type Message = { readonly role: string; readonly content: unknown };
type Body = {
  readonly model?: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly function?: { readonly name: string } }[];
  readonly messages?: readonly Message[];
};

export const chatCompletions: Api = { isTurn: (path) => path.includes('/chat/completions'), read, send };

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

function read({ tools = [], messages = [] }: Body): ModelRequest {
  return {
    tools: tools.map((tool) => tool.function?.name ?? ''),
    input: messages
      .slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
      .filter(({ role }) => role !== 'system')
      .map(({ content }) => textIn(content))
      .join('\n'),
  };
}

function send(response: ServerResponse, turn: Reply, { body, id }: About): void {
  const { model, stream }: Body = body;
  const tool_calls = callsOf(turn).map(({ tool, input }, index) => ({
    index,
    id: `call_${id}_${index}`,
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(input) },
  }));
  const isTool = tool_calls.length > 0;
  const message = {
    role: 'assistant',
    content: 'text' in turn ? turn.text : '',
    ...(isTool ? { tool_calls } : {}),
  };
  const finish_reason = isTool ? 'tool_calls' : 'stop';
  const base = { id: `chat-${id}`, created: 0, model };
  if (stream !== true) {
    const choices = [{ index: 0, message, finish_reason }];
    sendJson(response, 200, { ...base, object: 'chat.completion', choices, usage });
    return;
  }
  const chunk = (delta: object, finish: string | null) => ({
    ...base,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const total = { ...base, object: 'chat.completion.chunk', choices: [], usage };
  sendEvents(response, [chunk(message, null), chunk({}, finish_reason), total, '[DONE]']);
}

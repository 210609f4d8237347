/** Anthropic's Messages API, scripted: for Claude Code and the Agent SDK. */
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
  readonly tools?: readonly { readonly name: string }[];
  readonly messages?: readonly Message[];
};

type ModelEvent = { readonly type: string; readonly [key: string]: unknown };

export const anthropicMessages: Api = {
  isTurn: (path) => /^\/v1\/messages(\?|$)/.test(path),
  other: (path) => (path.startsWith('/v1/messages/count_tokens') ? { input_tokens: 1 } : null),
  read,
  send,
};

function read({ tools = [], messages = [] }: Body): ModelRequest {
  const since = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  return {
    tools: tools.map(({ name }) => name),
    input: messages
      .slice(since)
      .map(({ content }) => textIn(content))
      .join('\n'),
  };
}

function send(response: ServerResponse, turn: Reply, { body, id }: About): void {
  const { model, stream }: Body = body;
  const calls = callsOf(turn);
  const stop = { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null };
  const content =
    'text' in turn
      ? [{ type: 'text', text: turn.text }]
      : calls.map(({ tool, input }, at) => ({ type: 'tool_use', id: `toolu_${id}_${at}`, name: tool, input }));
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model, usage };
  if (stream !== true) {
    sendJson(response, 200, { ...message, ...stop, content });
    return;
  }
  sendEvents(response, [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
    ...content.flatMap((block, index) => blockEvents(block, index)),
    { type: 'message_delta', delta: stop, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]);
}

function blockEvents(block: { readonly type: string }, index: number): ModelEvent[] {
  const isText = block.type === 'text';
  const { text = '', input } = block as { text?: string; input?: object };
  const delta = isText
    ? { type: 'text_delta', text }
    : { type: 'input_json_delta', partial_json: JSON.stringify(input) };
  const begun = isText ? { ...block, text: '' } : { ...block, input: {} };
  const start = { type: 'content_block_start', index, content_block: begun };
  return [start, { type: 'content_block_delta', index, delta }, { type: 'content_block_stop', index }];
}

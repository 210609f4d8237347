/** OpenAI's Responses API, scripted: for Codex. */
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

type Item = { readonly type?: string; readonly role?: string };
type Body = {
  readonly model?: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name?: string; readonly type: string }[];
  readonly input?: readonly Item[];
};

export const openaiResponses: Api = {
  isTurn: (path) => /\/responses(\?|$)/.test(path),
  other: (path) => (/\/models(\?|$)/.test(path) ? { object: 'list', data: [], models: [] } : null),
  read,
  send,
};

const isModels = ({ role, type }: Item): boolean =>
  role === 'assistant' || type === 'function_call' || type === 'reasoning';

function read({ tools = [], input = [] }: Body): ModelRequest {
  return {
    tools: tools.map(({ name, type }) => name ?? type),
    input: input
      .slice(input.findLastIndex(isModels) + 1)
      .map(textIn)
      .join('\n'),
  };
}

const usage = {
  input_tokens: 1,
  output_tokens: 1,
  total_tokens: 2,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
};

function send(response: ServerResponse, turn: Reply, { body, id }: About): void {
  const { model, stream }: Body = body;
  const output = itemsOf(turn, id);
  const about = { id: `resp_${id}`, object: 'response', created_at: 0, model };
  const whole = { ...about, status: 'completed', output, usage };
  if (stream !== true) {
    sendJson(response, 200, whole);
    return;
  }
  const events = [
    { type: 'response.created', response: { ...about, status: 'in_progress', output: [] } },
    ...output.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item })),
    { type: 'response.completed', response: whole },
  ];
  sendEvents(
    response,
    events.map((event, at) => ({ ...event, sequence_number: at })),
  );
}

function itemsOf(turn: Reply, id: string): readonly object[] {
  if ('text' in turn) {
    const content = [{ type: 'output_text', text: turn.text, annotations: [] }];
    return [{ type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed', content }];
  }
  return callsOf(turn).map(({ tool, input, namespace }, at) => ({
    type: 'function_call',
    id: `fc_${id}_${at}`,
    call_id: `call_${id}_${at}`,
    status: 'completed',
    name: tool,
    arguments: JSON.stringify(input),
    ...(namespace === undefined ? {} : { namespace }),
  }));
}

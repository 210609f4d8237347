/**
 * Models that only say "I stop here.", on loopback, in the two forms that the agents of a dry turn speak. They count the
 * turns that they are asked for, and keep what they are told. Seen with Claude Code 2.1.329 and Codex 0.169.0.
 */
import { type Answer, type Loopback, openLoopback, sendEvents, sendJson } from './loopback.ts';

export type FakeModel = Loopback & {
  /** The agent's own turns, each the whole request as JSON text; titles and the like are not among them. */
  readonly turns: readonly string[];
};

const words = 'I stop here.';
type Turn = { model?: string; stream?: boolean; tools?: unknown[] };

export const openMessagesModel = (): Promise<FakeModel> =>
  open(
    (path) => /^\/v1\/messages(\?|$)/.test(path),
    (path) => (path.includes('count_tokens') ? { input_tokens: 1 } : {}),
    answerMessage,
  );

export const openResponsesModel = (): Promise<FakeModel> =>
  open(
    (path) => /\/responses(\?|$)/.test(path),
    () => ({ object: 'list', data: [], models: [] }),
    answerResponse,
  );

async function open(
  isTurn: (path: string) => boolean,
  other: (path: string) => object,
  answerTurn: (response: Parameters<Answer>[1], turn: Turn, count: number) => void,
): Promise<FakeModel> {
  const turns: string[] = [];
  let count = 0;
  const server = await openLoopback(({ method, path, body }, response) => {
    if (method !== 'POST' || !isTurn(path)) return sendJson(response, 200, other(path));
    const turn = (body ?? {}) as Turn;
    count += 1;
    if ((turn.tools?.length ?? 0) > 0) turns.push(JSON.stringify(turn));
    answerTurn(response, turn, count);
  });
  return { ...server, turns };
}

const usage = { input_tokens: 1, output_tokens: 1 };

function answerMessage(response: Parameters<Answer>[1], { model = 'fake', stream }: Turn, count: number): void {
  const head = { id: `msg_${count}`, type: 'message', role: 'assistant', model, stop_sequence: null, usage };
  if (stream !== true) {
    sendJson(response, 200, { ...head, content: [{ type: 'text', text: words }], stop_reason: 'end_turn' });
    return;
  }
  sendEvents(response, [
    { type: 'message_start', message: { ...head, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]);
}

function answerResponse(response: Parameters<Answer>[1], { model = 'fake', stream }: Turn, count: number): void {
  const content = [{ type: 'output_text', text: words, annotations: [] }];
  const item = { type: 'message', id: `msg_${count}`, role: 'assistant', status: 'completed', content };
  const about = { id: `resp_${count}`, object: 'response', created_at: 0, model };
  const done = {
    ...{ ...about, status: 'completed', output: [item] },
    usage: {
      ...usage,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    },
  };
  if (stream !== true) {
    sendJson(response, 200, done);
    return;
  }
  const events = [
    { type: 'response.created', response: { ...about, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: done },
  ];
  sendEvents(
    response,
    events.map((event, index) => ({ ...event, sequence_number: index })),
  );
}

/** A fake model with the API that Codex calls. Seen with 0.169.0. */
import type { ServerResponse } from 'node:http';
import { type FakeModel, type ModelRequest, modelText, openFakeModel } from '../doctor/fake-model.ts';
import { sendEvents, sendJson } from '../doctor/loopback.ts';

export const openResponsesModel = (): Promise<FakeModel> =>
  openFakeModel({
    isTurn: (path) => /\/responses(\?|$)/.test(path),
    other: () => ({ object: 'list', data: [], models: [] }),
    answerTurn,
  });

const usage = {
  ...{ input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
};

function answerTurn(response: ServerResponse, { model = 'fake', stream }: ModelRequest, count: number): void {
  const content = [{ type: 'output_text', text: modelText, annotations: [] }];
  const item = { type: 'message', id: `msg_${count}`, role: 'assistant', status: 'completed', content };
  const head = { id: `resp_${count}`, object: 'response', created_at: 0, model };
  const done = { ...head, status: 'completed', output: [item], usage };
  if (stream !== true) {
    sendJson(response, 200, done);
    return;
  }
  const events = [
    { type: 'response.created', response: { ...head, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: done },
  ];
  sendEvents(
    response,
    events.map((event, index) => ({ ...event, sequence_number: index })),
  );
}

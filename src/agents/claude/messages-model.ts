/** A fake model with the API that Claude Code calls. Seen with 2.1.330. */
import type { ServerResponse } from 'node:http';
import { type FakeModel, type ModelRequest, modelText, openFakeModel } from '../doctor/fake-model.ts';
import { sendEvents, sendJson } from '../doctor/loopback.ts';

export const openMessagesModel = (): Promise<FakeModel> =>
  openFakeModel({
    isTurn: (path) => /^\/v1\/messages(\?|$)/.test(path),
    other: (path) => (path.includes('count_tokens') ? { input_tokens: 1 } : {}),
    answerTurn,
  });

const usage = { input_tokens: 1, output_tokens: 1 };

function answerTurn(response: ServerResponse, { model = 'fake', stream }: ModelRequest, count: number): void {
  const head = { id: `msg_${count}`, type: 'message', role: 'assistant', model, stop_sequence: null, usage };
  if (stream !== true) {
    sendJson(response, 200, { ...head, content: [{ type: 'text', text: modelText }], stop_reason: 'end_turn' });
    return;
  }
  sendEvents(response, [
    { type: 'message_start', message: { ...head, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: modelText } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]);
}

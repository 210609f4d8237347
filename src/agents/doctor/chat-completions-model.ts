/** A fake model with OpenAI's chat completions, which several agents take from any address. */
import type { ServerResponse } from 'node:http';
import { type FakeModel, type ModelRequest, modelText, openFakeModel } from './fake-model.ts';
import { sendEvents, sendJson } from './loopback.ts';

export const openChatCompletionsModel = (): Promise<FakeModel> =>
  openFakeModel({
    isTurn: (path) => path.includes('/chat/completions'),
    other: () => ({ object: 'list', data: [] }),
    answerTurn,
  });

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

function answerTurn(response: ServerResponse, { model = 'fake', stream }: ModelRequest, count: number): void {
  const head = { id: `chat-${count}`, created: 0, model };
  const message = { role: 'assistant', content: modelText };
  if (stream !== true) {
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    sendJson(response, 200, { ...head, object: 'chat.completion', choices, usage });
    return;
  }
  const chunk = (choices: readonly object[], more: object = {}) => ({
    ...{ ...head, object: 'chat.completion.chunk' },
    ...{ choices, ...more },
  });
  sendEvents(response, [
    chunk([{ index: 0, delta: message, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
    chunk([], { usage }),
    '[DONE]',
  ]);
}

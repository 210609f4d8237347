/** A fake model with the API that Gemini CLI calls. Seen with 0.61.0. */
import type { ServerResponse } from 'node:http';
import { type FakeModel, type ModelRequest, modelText, openFakeModel } from '../doctor/fake-model.ts';
import { sendEvents, sendJson } from '../doctor/loopback.ts';

export const openGenerateContentModel = (): Promise<FakeModel> =>
  openFakeModel({ isTurn: (path) => /:(?:stream)?generateContent/i.test(path), other: () => ({}), answerTurn });

function answerTurn(response: ServerResponse, _request: ModelRequest, _count: number, path: string): void {
  const answer = {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: modelText }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: 'fake',
  };
  if (path.includes('stream')) sendEvents(response, [answer]);
  else sendJson(response, 200, answer);
}

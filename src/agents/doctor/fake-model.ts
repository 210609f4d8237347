/** A model on loopback that only says "I stop here.", for dry turns. It keeps what it is told. */
import type { ServerResponse } from 'node:http';
import { type Loopback, openLoopback, sendJson } from './loopback.ts';

export type FakeModel = Loopback & {
  /** The requests of the agent's own turns, as JSON text. Those for titles and the like are not among them. */
  readonly turns: readonly string[];
};

export type ModelRequest = { model?: string; stream?: boolean; tools?: unknown[] };

/** The form of a vendor's API. */
export type ModelApi = {
  readonly isTurn: (path: string) => boolean;
  /** The answer to any other request. */
  readonly other: (path: string) => object;
  /** `count`: of this turn, 1-based. */
  readonly answerTurn: (response: ServerResponse, request: ModelRequest, count: number, path: string) => void;
};

export const modelText = 'I stop here.';

export async function openFakeModel({ isTurn, other, answerTurn }: ModelApi): Promise<FakeModel> {
  const turns: string[] = [];
  let count = 0;
  const server = await openLoopback(({ method, path, body }, response) => {
    if (method !== 'POST' || !isTurn(path)) return sendJson(response, 200, other(path));
    const request = (body ?? {}) as ModelRequest;
    count += 1;
    if ((request.tools?.length ?? 0) > 0) turns.push(JSON.stringify(request));
    answerTurn(response, request, count, path);
  });
  return { ...server, turns };
}

/**
 * Replies with results of the history process. These may take a while, so a client that accepts JSON lines gets the
 * progress, and a client that disconnects cancels the work.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, errorBody } from '../errors.ts';
import type { Inspection } from '../inspector/index.ts';
import { commonHeaders, whenClosed } from './replies.ts';

type History = Inspection['history'];
export type Work = Parameters<History['ask']>[0];

const jsonLines = 'application/x-ndjson';

export async function sendHistory(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  history: History,
  work: Work,
): Promise<FastifyReply> {
  const signal = whenClosed(reply);
  try {
    if (headers.accept?.includes(jsonLines) === true)
      return await sendLines(reply, (onProgress) => history.ask(work, { signal, onProgress }));
    const body = await history.ask(work, { signal });
    return reply.type('application/json; charset=utf-8').send(body);
  } catch (error) {
    if (!signal.aborted) throw error;
    return reply.hijack();
  }
}

/**
 * Sends lines `{"progress":{"done","total"}}`, then `{"result":…}` or `{"error":…}`. An early failure gets an HTTP
 * status.
 */
async function sendLines(
  reply: FastifyReply,
  ask: (onProgress: (progress: object) => void) => Promise<Uint8Array>,
): Promise<FastifyReply> {
  const { raw } = reply;
  let begun = false;
  const write = (...line: (string | Uint8Array)[]) => {
    if (raw.destroyed) return;
    if (!begun) {
      begun = true;
      reply.hijack();
      raw.writeHead(200, { ...commonHeaders, 'content-type': jsonLines, 'x-accel-buffering': 'no' });
    }
    for (const part of [...line, '\n']) raw.write(part);
  };
  try {
    const body = await ask((progress) => write(JSON.stringify({ progress })));
    write('{"result":', body, '}');
  } catch (error) {
    if (!begun || !(error instanceof AppError)) throw error;
    write(JSON.stringify(errorBody(error)));
  }
  raw.end();
  return reply;
}

/**
 * Limits the total size of the bodies of all open requests. Each body has its own limit, but a hundred large ones at
 * once would exhaust the memory. A request over the budget gets a 503 before its body is read; the body is discarded
 * (replies.ts).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { bodyBytesMax } from './replies.ts';

/** Nearly all hook calls are smaller than this. They have their own budget, which large bodies cannot exhaust. */
const smallBytesMax = 65_536;
/**
 * Six of the largest bodies. Each takes up to 60 MB for its text and parsed values (90 MB if the text is not Latin), so
 * they fit into a service with 1 GB.
 */
const largeBytesMax = 100_663_296;
/** 512 small bodies at once. */
const smallBytesInAllMax = 33_554_432;

const bound = { bound: 'http bodies' };

export function addBodyBudget(app: FastifyInstance, { bounded, bounds }: Pick<Metrics, 'bounded' | 'bounds'>): void {
  bounded.inc(bound, 0); // start at zero, so that alerts see the first increase
  const open = { small: 0, large: 0 };
  const budgets = { small: smallBytesInAllMax, large: largeBytesMax };
  bounds.add('bytes of small HTTP bodies', budgets.small, () => open.small);
  bounds.add('bytes of large HTTP bodies', budgets.large, () => open.large);
  app.addHook('onRequest', async (request, reply) => {
    const bytes = declaredBytes(request);
    if (bytes === 0 || bytes > bodyBytesMax) return; // larger bodies are refused unread
    const kind = bytes <= smallBytesMax ? 'small' : 'large';
    if (open[kind] + bytes > budgets[kind]) {
      bounded.inc(bound);
      throw new AppError(
        'service.busy',
        `the bodies of open requests take ${open[kind]} of at most ${budgets[kind]} bytes: try again later`,
      );
    }
    open[kind] += bytes;
    // Until the request is answered or gone, its handler may hold the parsed body.
    reply.raw.once('close', () => {
      open[kind] -= bytes;
    });
  });
}

/** Returns the declared size. For a chunked or compressed body, assumes the maximum. */
function declaredBytes({ headers }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined || headers['content-encoding'] !== undefined) return bodyBytesMax;
  return Number(headers['content-length'] ?? 0) || 0;
}

/**
 * Bounds the bytes of bodies that all requests together have in flight. One body is within its own limit, and a hundred
 * of them at once would end the service. A request beyond the budget gets 503 before its body is read; what still comes of it is
 * thrown away (replies.ts).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { bodyBytesMax } from './replies.ts';

/** Nearly every hook call is smaller. Large bodies leave room for these. */
const smallBytesMax = 65_536;
/**
 * Six of the largest bodies. Text, what is parsed of it and `bodyValuesMax` make 60 MB of each, 90 MB where the text is not
 * Latin: by that count they fit into a service with 1 GB.
 */
const largeBytesMax = 100_663_296;
/** 512 small ones at once. */
const smallBytesInAllMax = 33_554_432;

const bound = { bound: 'http bodies' };

export function addBodyBudget(app: FastifyInstance, { bounded, bounds }: Pick<Metrics, 'bounded' | 'bounds'>): void {
  bounded.inc(bound, 0); // an alert sees the first one only after a zero
  const open = { small: 0, large: 0 };
  const most = { small: smallBytesInAllMax, large: largeBytesMax };
  bounds.add('bytes of small HTTP bodies', most.small, () => open.small);
  bounds.add('bytes of large HTTP bodies', most.large, () => open.large);
  app.addHook('onRequest', async (request, reply) => {
    const bytes = declaredBytes(request);
    if (bytes === 0 || bytes > bodyBytesMax) return; // too large a one is refused unread
    const kind = bytes <= smallBytesMax ? 'small' : 'large';
    if (open[kind] + bytes > most[kind]) {
      bounded.inc(bound);
      throw new AppError(
        'service.busy',
        `the bodies of all requests have ${most[kind]} bytes at most, and those of others take ${open[kind]}: send it again later`,
      );
    }
    open[kind] += bytes;
    // Answered, or gone: until then the handler may hold what was parsed.
    reply.raw.once('close', () => {
      open[kind] -= bytes;
    });
  });
}

/** Returns the declared size. A body in chunks, or a packed one, may be as large as any body. */
function declaredBytes({ headers }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined || headers['content-encoding'] !== undefined) return bodyBytesMax;
  return Number(headers['content-length'] ?? 0) || 0;
}

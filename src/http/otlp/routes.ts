/**
 * The OTLP/HTTP receiver. Agents send their telemetry here; the usage in it becomes `usage.reported` entries of their
 * session's worker, and the rest is accepted and dropped. Accepts JSON and protobuf, optionally gzipped.
 */
import { createHash } from 'node:crypto';
import { createGunzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { UsageReport } from '../../../machines/index.ts';
import { createKeyedMutex } from '../../concurrency/keyed-mutex.ts';
import { AppError } from '../../errors.ts';
import type { Service } from '../../service/index.ts';
import { callerOf, fleetsOf, isForWorker } from '../access.ts';
import { createPerService, fleetNamed } from '../fleet-directory.ts';
import { anyObject, fleetInQuery } from '../route-schemas.ts';
import type { NoteUnreadField } from './fields.ts';
import { decodeOtlp, encodeResponse } from './protobuf.ts';
import { createUsageReader, type FoundUsage, type Signal, signals } from './usage.ts';

/** After unzipping. Exporters send a few hundred events at once, of 2 KB each. */
const bodyBytesMax = 4 * 1_048_576;
/** Maximum concurrent publishes per request. More would only wait for the log. */
const atOnceMax = 16;

const protobuf = 'application/x-protobuf';
/** The name of the field that counts rejected items, by signal. */
const rejectedNames: Readonly<Record<Signal, string>> = {
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
  traces: 'rejectedSpans',
};

/** Calls `note` with the name of each unreadable field. */
export async function addOtlpRoutes(app: FastifyInstance, note: NoteUnreadField): Promise<void> {
  const readerOf = createPerService(() => createUsageReader(Date.now(), note));
  // Requests with metrics run one at a time, because the growth of a series depends on its last stored point.
  const mutex = createKeyedMutex();
  await app.register((otlp, _options, done) => {
    otlp.addContentTypeParser(protobuf, { parseAs: 'buffer' }, (_request, body, parsed) => parsed(null, body));
    otlp.addHook('preParsing', unpack);
    for (const signal of signals)
      otlp.post<{ Querystring: { fleet?: unknown } }>(
        `/v1/${signal}`,
        {
          bodyLimit: bodyBytesMax,
          config: {
            access: { role: 'agent', workers: 'own', fleets: 'own' },
            listed: signal === 'logs' ? [`POST /v1/<${signals.join('|')}>`] : [],
          },
          schema: {
            tags: ['agents'],
            summary: `Receives an agent's ${signal} over OTLP/HTTP. Its usage becomes usage.reported of the session's worker`,
            consumes: ['application/json', protobuf],
            querystring: z.object({ fleet: fleetInQuery }),
            body: z.unknown().describe('an export request of OTLP'),
            response: { 200: z.looseObject({ partialSuccess: anyObject.optional() }) },
          },
        },
        async (request, reply) => {
          const { service } = fleetNamed(fleetsOf(request), request.query.fleet);
          const body = Buffer.isBuffer(request.body) ? decodeOtlp(signal, request.body) : (request.body ?? {});
          const take = () => store(service, request, readerOf(service)(signal, body), signal);
          const rejected = await (signal === 'metrics'
            ? mutex.runExclusive(request.query.fleet as string, take)
            : take());
          return answer(request, reply, signal, rejected);
        },
      );
    done();
  });
}

/** Unzips the body. `bodyLimit` applies to the unzipped size. */
const unpack = async (request: FastifyRequest, _reply: FastifyReply, payload: NodeJS.ReadableStream) => {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return payload as never;
  if (encoding !== 'gzip') throw new AppError('input.bad', `content-encoding '${encoding}' is not supported: use gzip`);
  const gunzip = createGunzip();
  const unpacked = Object.assign(gunzip, { receivedEncodedLength: 0 });
  payload.on('data', (chunk: Buffer) => {
    unpacked.receivedEncodedLength += chunk.length;
  });
  payload.on('error', (error) => gunzip.destroy(error));
  payload.pipe(gunzip);
  return unpacked as never;
};

type Rejected = { count: number; why: Set<string> };

/** Stores the reports. Rejects those about unknown sessions and about sessions that are not the caller's. */
async function store(
  service: Service,
  request: FastifyRequest,
  found: readonly FoundUsage[],
  source: Signal,
): Promise<Rejected> {
  const rejected: Rejected = { count: 0, why: new Set() };
  const caller = callerOf(request);
  const known = new Map<string, Promise<boolean>>();
  const isKnown = (worker: string) => {
    const answer = known.get(worker) ?? isWorker(service, worker);
    known.set(worker, answer);
    return answer;
  };
  const storeOne = async ({ worker, report, key, items, markStored }: FoundUsage) => {
    const why = !isForWorker(caller, worker)
      ? `this token is not for the worker '${worker}'`
      : (await isKnown(worker))
        ? null
        : `no worker '${worker}': its hooks have not reported the session`;
    if (why === null) {
      await publish(service, worker, { ...report, source }, key);
      markStored();
      return;
    }
    rejected.count += items;
    rejected.why.add(why);
  };
  for (let start = 0; start < found.length; start += atOnceMax)
    await Promise.all(found.slice(start, start + atOnceMax).map(storeOne));
  return rejected;
}

async function isWorker(service: Service, worker: string): Promise<boolean> {
  try {
    await service.get('worker', worker, {});
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'actor.unknown') return false;
    throw error;
  }
}

/** An exporter that gets no answer repeats its request. The message id prevents a second entry. */
const publish = (service: Service, worker: string, report: UsageReport & { readonly source: Signal }, key: string) =>
  service.publish({
    entity: 'worker',
    id: worker,
    type: 'usage.reported',
    data: report,
    messageId: `otlp-${createHash('sha256').update(`${worker} ${key}`).digest('hex').slice(0, 32)}`,
  });

/** Maximum number of different reasons in one answer. */
const reasonsMax = 3;

function answer(request: FastifyRequest, reply: FastifyReply, signal: Signal, { count, why }: Rejected) {
  const message = [...why].slice(0, reasonsMax).join('; ');
  if (Buffer.isBuffer(request.body))
    return reply.header('content-type', protobuf).send(Buffer.from(encodeResponse(count, message)));
  return count === 0 ? {} : { partialSuccess: { [rejectedNames[signal]]: String(count), errorMessage: message } };
}

/**
 * Reads a range of a stream once, up to the end that it had when it was opened, at the caller's pace: a consumer that
 * is asked for one batch after the other. If a message is missing or comes twice, the range ends with an error, and the
 * caller may open another.
 */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../../errors.ts';
import { newInbox, subscribe } from '../connection.ts';
import { type LogMessage, readPlace, toLogMessage } from './log-reader.ts';
import { addPullConsumer, createWindows, dropConsumer, windowBytesMax } from './log-window.ts';
import { isStreamNotFound } from './stream-info.ts';

export type LogRange = {
  /** The number of messages that it has. */
  readonly count: number;
  /** To be iterated once; it may be left early. @throws AppError log.unavailable */
  readonly batches: AsyncIterable<readonly LogMessage[]>;
};

/** `toSeq`: no more than that many are fetched. `subject`: only what matches this one filter; servers before 2.10 take no second. */
export type LogRangeOptions = { readonly fromSeq?: number; readonly toSeq?: number; readonly subject?: string };

const batchMax = 1_000;
const silenceMs = 10_000;

/** @throws AppError actor.unknown: there is no such stream; log.unavailable */
export async function openLogRange(
  nc: NatsConnection,
  stream: string,
  { fromSeq = 1, toSeq = Number.POSITIVE_INFINITY, subject }: LogRangeOptions = {},
): Promise<LogRange> {
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const { name, num_pending } = await addConsumer(manager, stream, fromSeq, subject);
  const count = Math.min(num_pending, Math.max(0, toSeq - fromSeq + 1));
  return { count, batches: readBatches(nc, { stream, name, count }) };
}

/**
 * The newest `count` messages that match (and stand below `before`), oldest first. A stream cannot be read backwards,
 * and a filter cannot be counted from its end. But the server tells, when a consumer is created, how many messages
 * match from a sequence number on. So growing steps back find where enough of them begin, without any message sent.
 */
export async function readNewest(
  nc: NatsConnection,
  stream: string,
  subject: string,
  count: number,
  before?: number,
): Promise<LogMessage[]> {
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const { state } = await manager.streams.info(stream).catch(refuse(stream));
  const countFrom = async (seq: number) => {
    const { name, num_pending } = await addConsumer(manager, stream, seq, subject);
    dropConsumer(nc, stream, name);
    return num_pending;
  };
  const lastSeq = Math.min(state.last_seq, (before ?? Number.POSITIVE_INFINITY) - 1);
  if (lastSeq < 1) return [];
  const later = lastSeq < state.last_seq ? await countFrom(lastSeq + 1) : 0;
  const from = await startOfNewest(lastSeq, count, async (seq) => (await countFrom(seq)) - later);
  const newest: LogMessage[] = [];
  for await (const batch of (await openLogRange(nc, stream, { fromSeq: from, subject })).batches) {
    const wanted = batch.filter(({ seq }) => seq <= lastSeq);
    newest.push(...wanted);
    if (newest.length > count) newest.splice(0, newest.length - count);
    if (wanted.length < batch.length) break;
  }
  return newest;
}

const firstStep = 256;
const stepGrowth = 8;

/** The sequence number from which there are `count` messages, or few more. `countFrom`: counts them from a number on. */
async function startOfNewest(
  lastSeq: number,
  count: number,
  countFrom: (seq: number) => Promise<number>,
): Promise<number> {
  let tooLate = lastSeq + 1;
  let from = Math.max(1, tooLate - firstStep);
  let matching = await countFrom(from);
  for (let step = firstStep; matching < count && from > 1; ) {
    step *= stepGrowth;
    tooLate = from;
    from = Math.max(1, lastSeq + 1 - step);
    matching = await countFrom(from);
  }
  while (matching > count + batchMax && tooLate - from > 1) {
    const middle = Math.floor((from + tooLate) / 2);
    const later = await countFrom(middle);
    if (later < count) tooLate = middle;
    else [from, matching] = [middle, later];
  }
  return from;
}

const addConsumer = (manager: JetStreamManager, stream: string, fromSeq: number, subject: string | undefined) =>
  addPullConsumer(manager, stream, fromSeq, subject).catch(refuse(stream));

const refuse = (stream: string) => (cause: unknown) => {
  if (isStreamNotFound(cause)) {
    const message = `there is no stream '${stream}' here: no service has ever served this fleet`;
    throw new AppError('actor.unknown', message, { cause });
  }
  const why = `'${stream}' cannot be read: ${(cause as Error).message}`;
  if (/permissions violation/i.test(why))
    throw new AppError('input.unauthorized', `${why}; it takes an operator's credentials (--creds)`, { cause });
  throw new AppError('log.unavailable', why, { cause });
};

type Reading = { readonly stream: string; readonly name: string; readonly count: number };

async function* readBatches(
  nc: NatsConnection,
  { stream, name, count }: Reading,
): AsyncGenerator<readonly LogMessage[]> {
  const source = openBatches(nc, stream, name);
  try {
    for (let read = 0; read < count; ) {
      const batch = await source.next(Math.min(batchMax, count - read));
      read += batch.length;
      yield batch;
    }
  } finally {
    source.close();
    dropConsumer(nc, stream, name);
  }
}

/** Requests batches, one at a time, and checks that nothing is missing and nothing comes twice. */
function openBatches(nc: NatsConnection, stream: string, consumer: string) {
  const inbox = newInbox(nc);
  const windows = createWindows(nc, stream, consumer, inbox);
  let delivered = 0;
  let lastSeq = 0;
  let batch: LogMessage[] = [];
  let resolve: (batch: LogMessage[]) => void = () => {};
  let reject: (error: AppError) => void = () => {};
  const fail = (why: string, cause?: unknown) =>
    reject(new AppError('log.unavailable', `the log could not be read to its end: ${why}`, { cause }));
  const onStatus = (message: Msg) => {
    const status = windows.read(message);
    if (status === 'full') resolve(batch);
    else if (status === 'gone')
      fail(message.headers?.description || 'the server sent something that is not a message of the log');
  };
  const onMessage = (message: Msg) => {
    const place = readPlace(message.reply ?? '');
    if (place === null) return onStatus(message);
    if (place.delivered !== delivered + 1) return fail('a message was lost on the way');
    // It took the place of another: what was counted as the whole range would lack its end.
    if (place.seq <= lastSeq) return fail(`entry ${place.seq} came after entry ${lastSeq}`);
    delivered = place.delivered;
    lastSeq = place.seq;
    batch.push(toLogMessage(message, place.seq, place.atMs));
    if (windows.onEntry(message)) resolve(batch);
  };
  const subscription = subscribe(nc, `${inbox}.*`, (error, message) =>
    error === null ? onMessage(message) : fail(error.message, error),
  );
  void nc.closed().then(() => fail('the connection to NATS was lost'));
  return {
    /** Fewer than `count` where they would be more bytes than a window. */
    async next(count: number): Promise<LogMessage[]> {
      if (nc.isClosed()) throw new AppError('service.unreachable', 'the connection to NATS was lost');
      batch = [];
      const late = setTimeout(() => fail(`nothing came for ${silenceMs} ms`), silenceMs);
      const whole = new Promise<LogMessage[]>((done, failed) => {
        [resolve, reject] = [done, failed];
      });
      windows.open({ count, bytes: windowBytesMax });
      return whole.finally(() => clearTimeout(late));
    },
    close() {
      if (!nc.isClosed()) subscription.unsubscribe();
    },
  };
}

// Reads a log from one entry to another. In a cluster any node may serve it, even one that lags and has fewer entries
// than the leader of the stream. That is noticed, and never taken for the end.

/** `subject`: of one subject (wildcards allowed); default: of all. */
export type HistoryRange = { readonly fromSeq: number; readonly toSeq: number; readonly subject?: string };

/** A node that lags has seconds to catch up; each try may get another node. */
const triesMax = 20;
const pauseMsDefault = 250;

/** Awaits promises that `onMessage` returns. @throws AppError log.unavailable: not all of it can be read now */
export async function readHistory(
  nc: NatsConnection,
  stream: string,
  { fromSeq, toSeq, subject }: HistoryRange,
  onMessage: (message: LogMessage) => void | Promise<void>,
  pauseMs = pauseMsDefault,
): Promise<void> {
  let nextSeq = fromSeq;
  /** @returns whether it was read to `toSeq` */
  const read = async (): Promise<boolean> => {
    const of = { fromSeq: nextSeq, toSeq, ...(subject === undefined ? {} : { subject }) };
    for await (const batch of (await openLogRange(nc, stream, of)).batches) {
      for (const message of batch) {
        if (message.seq > toSeq) return true;
        nextSeq = message.seq + 1;
        const pause = onMessage(message);
        if (pause !== undefined) await pause;
      }
    }
    return nextSeq > toSeq;
  };
  for (let tries = 0; !(await read()); tries += 1) {
    const missingSeq = await findNext(nc, stream, nextSeq, subject);
    if (missingSeq > toSeq) return;
    if (tries === triesMax) throw lagging(stream, missingSeq);
    if (tries > 0) await new Promise((done) => setTimeout(done, pauseMs));
  }
}

/** The first entry of `seq` or after it, as the leader of the stream says; infinity: there is none. */
async function findNext(nc: NatsConnection, stream: string, seq: number, subject = '>'): Promise<number> {
  const { streams } = await jetstreamManager(nc, { checkAPI: false });
  // The library's type lacks an option that servers have since 2.9.
  const request = { seq, next_by_subj: subject } as { seq: number };
  return (await streams.getMessage(stream, request))?.seq ?? Number.POSITIVE_INFINITY;
}

const lagging = (stream: string, missingSeq: number): AppError =>
  new AppError(
    'log.unavailable',
    `the log could not be read to its end: a node of NATS lags, and does not have entry ${missingSeq} of ${stream}, which the leader has; try again`,
  );

/**
 * Reads a range of a stream once, up to the end it had when the range was opened. A pull consumer fetches batches at
 * the caller's pace. A missing or repeated message ends the range with an error; the caller may open another range.
 */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../../errors.ts';
import { newInbox, subscribe } from '../connection.ts';
import { type LogMessage, parseAckSubject, toLogMessage } from './log-reader.ts';
import { addPullConsumer, createWindows, dropConsumer, windowBytesMax } from './log-window.ts';
import { isStreamNotFound } from './stream-info.ts';

export type LogRange = {
  /** Number of messages in the range. */
  readonly count: number;
  /** Iterate at most once; leaving early is fine. @throws AppError log.unavailable */
  readonly batches: AsyncIterable<readonly LogMessage[]>;
};

/**
 * `toSeq` bounds the number of messages fetched, so with a `subject` filter messages beyond it may arrive. There is
 * only one filter, because servers before 2.10 do not support several.
 */
type LogRangeOptions = { readonly fromSeq?: number; readonly toSeq?: number; readonly subject?: string };

const batchMax = 1_000;
const silenceMs = 10_000;

/** @throws AppError actor.unknown if there is no such stream; input.unauthorized, log.unavailable */
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
 * Returns the newest `count` messages on a subject (with sequences below `before`), oldest first. JetStream cannot read
 * backwards, but creating a consumer reports how many messages match from a sequence on. So growing steps back find the
 * start without fetching messages.
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

/** Returns a sequence from which at least `count` messages match, but not many more. */
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

/** Requests batches, one at a time, and checks that no message is missing or repeated. */
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
    const delivery = parseAckSubject(message.reply ?? '');
    if (delivery === null) return onStatus(message);
    if (delivery.delivered !== delivered + 1) return fail('a message was lost on the way');
    // Counting a repeated message would make the range end too early.
    if (delivery.seq <= lastSeq) return fail(`entry ${delivery.seq} arrived after entry ${lastSeq}`);
    delivered = delivery.delivered;
    lastSeq = delivery.seq;
    batch.push(toLogMessage(message, delivery.seq, delivery.atMs));
    if (windows.onEntry(message)) resolve(batch);
  };
  const subscription = subscribe(nc, `${inbox}.*`, (error, message) =>
    error === null ? onMessage(message) : fail(error.message, error),
  );
  void nc.closed().then(() => fail('the connection to NATS was lost'));
  return {
    /** Returns up to `count` messages: fewer if they exceed the window's bytes. */
    async next(count: number): Promise<LogMessage[]> {
      if (nc.isClosed()) throw new AppError('service.unreachable', 'the connection to NATS was lost');
      batch = [];
      const late = setTimeout(() => fail(`no message arrived within ${silenceMs} ms`), silenceMs);
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

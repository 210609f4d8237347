/**
 * Dead letters: a copy of each refused entry goes to the dead stream, in the log's order (protocol.md §9). Few are kept
 * in memory. If they arrive faster than the stream accepts them, they are read from the log again.
 */
import { deadLetterMessageId, formatIsoTime, type Refusal, readEntry } from '../../../machines/index.ts';
import type { Logger } from '../../log.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { OwnEntries } from '../own-entries.ts';
import type { FoldProgress } from './fold-progress.ts';

const dataBytesMax = 8_192;
/** This many are kept, some 2 MB. */
const keptMax = 256;
const retryMs = 1_000;

export type DeadLetters = {
  put(message: LogMessage, refusal: Refusal): void;
  /** The first refused entry that may still lack its dead letter; null: none does. */
  owedFrom(): number | null;
  /** From a snapshot: what it covers is not folded again. */
  restore(owedFrom: number | null): void;
  /** The log's head is reached, for the first time or again: sends what has no dead letter yet. */
  open(): void;
};

type DeadLetter = ReturnType<typeof deadLetterOf>;
type Pipeline = {
  readonly options: DeadLettersOptions;
  /** In the log's order, and before `missedSeq`. */
  readonly kept: DeadLetter[];
  /** The first entry whose dead letter was not kept; null: none. */
  missedSeq: number | null;
  /** The entry whose dead letter is being stored; null: none is. */
  sendingSeq: number | null;
  isSending: boolean;
};

export type DeadLettersOptions = {
  readonly lifecycle: Pick<Lifecycle, 'isAtHead' | 'isRunning'>;
  readonly log: Pick<EventLog, 'deadSeq' | 'history'>;
  readonly entries: Pick<OwnEntries, 'untilStored'>;
  readonly progress: Pick<FoldProgress, 'seq'>;
  readonly logger: Logger;
  readonly metrics: { dead(code: string): void };
};

export function createDeadLetters(options: DeadLettersOptions): DeadLetters {
  const pipeline: Pipeline = { options, kept: [], missedSeq: null, sendingSeq: null, isSending: false };
  return {
    put(message, refusal) {
      if (message.seq <= options.log.deadSeq) return;
      const isKept = options.lifecycle.isAtHead() && pipeline.missedSeq === null && pipeline.kept.length < keptMax;
      if (isKept) pipeline.kept.push(deadLetterOf(message, refusal));
      else pipeline.missedSeq ??= message.seq;
      if (options.lifecycle.isAtHead()) void send(pipeline);
    },
    owedFrom: () => pipeline.sendingSeq ?? pipeline.kept[0]?.data.seq ?? pipeline.missedSeq,
    restore(owedFrom) {
      if (owedFrom !== null) pipeline.missedSeq = Math.max(owedFrom, options.log.deadSeq + 1);
    },
    open: () => void send(pipeline),
  };
}

/** One after the other: if the newest is in the stream, all before it are. */
async function send(pipeline: Pipeline): Promise<void> {
  const { options, kept } = pipeline;
  if (pipeline.isSending) return;
  pipeline.isSending = true;
  while (options.lifecycle.isRunning() && (kept.length > 0 || pipeline.missedSeq !== null)) {
    const next = kept.shift();
    if (next === undefined) await sendMissed(pipeline);
    else await store(pipeline, next);
    // At an orderly end it may not have been stored, and the last snapshot says that it is owed.
    if (options.lifecycle.isRunning()) pipeline.sendingSeq = null;
  }
  pipeline.isSending = false;
}

async function sendMissed(pipeline: Pipeline): Promise<void> {
  const { options } = pipeline;
  const toSeq = options.progress.seq;
  let fromSeq = pipeline.missedSeq ?? 0;
  // What is refused from now on stands behind this.
  pipeline.missedSeq = null;
  pipeline.sendingSeq = fromSeq;
  try {
    await options.log.history({ fromSeq, toSeq }, async (message) => {
      if (!options.lifecycle.isRunning()) return;
      const read = readEntry(message.subject, decoder.decode(message.data), message.data.length);
      if (read !== null && !('data' in read)) await store(pipeline, deadLetterOf(message, read));
      fromSeq = message.seq + 1;
    });
  } catch (error) {
    // Those that were kept meanwhile are read again with the others.
    pipeline.kept.length = 0;
    pipeline.missedSeq = fromSeq;
    if (!options.lifecycle.isRunning()) return;
    options.logger.warn({ err: error, fromSeq }, 'dead letters not sent, trying again');
    await new Promise((done) => setTimeout(done, retryMs));
  }
}

async function store(pipeline: Pipeline, { tail, data }: DeadLetter): Promise<void> {
  const { options } = pipeline;
  const { seq, subject, code } = data;
  options.metrics.dead(code);
  options.logger.warn({ seq, subject, code }, 'entry refused');
  pipeline.sendingSeq = seq;
  await options.entries.untilStored({
    tail,
    data,
    messageId: deadLetterMessageId(seq),
    isNeeded: () => options.lifecycle.isRunning(),
  });
}

const decoder = new TextDecoder();

const deadLetterOf = (message: LogMessage, { code, message: text, entity, id }: Refusal) => ({
  tail: `dead.${entity}.${id}`,
  data: {
    code,
    message: text,
    seq: message.seq,
    at: formatIsoTime(message.atMs),
    subject: message.subject,
    data: textOf(message.data),
  },
});

/** The first 8 KiB, cut between code points. */
function textOf(data: Uint8Array): string {
  if (data.length <= dataBytesMax) return new TextDecoder().decode(data);
  return new TextDecoder().decode(data.subarray(0, dataBytesMax), { stream: true });
}

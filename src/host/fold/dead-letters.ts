/**
 * Dead letters: copies each refused entry to the dead stream, in the log's order (protocol.md §9). Keeps only a few in
 * memory. If entries are refused faster than the stream accepts their copies, it reads them from the log again.
 */
import { deadLetterMessageId, formatIsoTime, type Refusal, readEntry } from '../../../machines/index.ts';
import type { Logger } from '../../log.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { OwnEntries } from '../own-entries.ts';
import type { FoldProgress } from './fold-progress.ts';

const dataBytesMax = 8_192;
/** Maximum number of dead letters in memory: about 2 MB. */
const keptMax = 256;
const retryMs = 1_000;

export type DeadLetters = {
  put(message: LogMessage, refusal: Refusal): void;
  /** Sequence number of the first refused entry that may lack its dead letter, or null if there is none. */
  owedFrom(): number | null;
  /** Restores `owedFrom` from a snapshot, since the entries that it covers are not folded again. */
  restore(owedFrom: number | null): void;
  /** Called each time the log's head is reached: sends the dead letters that are missing. */
  open(): void;
};

type DeadLetter = ReturnType<typeof deadLetterOf>;
type Pipeline = {
  readonly options: DeadLettersOptions;
  /** In the log's order, all before `missedSeq`. */
  readonly kept: DeadLetter[];
  /** The first refused entry that is not in `kept` and must be read from the log again, or null. */
  missedSeq: number | null;
  /** The entry whose dead letter is being stored, or null. */
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

/** Sends them one after the other, so that if the newest is in the stream, so are all before it. */
async function send(pipeline: Pipeline): Promise<void> {
  const { options, kept } = pipeline;
  if (pipeline.isSending) return;
  pipeline.isSending = true;
  while (options.lifecycle.isRunning() && (kept.length > 0 || pipeline.missedSeq !== null)) {
    const next = kept.shift();
    if (next === undefined) await sendMissed(pipeline);
    else await store(pipeline, next);
    // When the host stops, the letter may not have been stored. Keep it owed for the last snapshot.
    if (options.lifecycle.isRunning()) pipeline.sendingSeq = null;
  }
  pipeline.isSending = false;
}

async function sendMissed(pipeline: Pipeline): Promise<void> {
  const { options } = pipeline;
  const toSeq = options.progress.seq;
  let fromSeq = pipeline.missedSeq ?? 0;
  // Entries refused from now on come after this range.
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
    // The entries refused in the meantime are read again, too.
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

/** Returns the first 8 KiB, cut between code points. */
function textOf(data: Uint8Array): string {
  if (data.length <= dataBytesMax) return new TextDecoder().decode(data);
  return new TextDecoder().decode(data.subarray(0, dataBytesMax), { stream: true });
}

/** Dead letters: a copy of each refused entry goes to the dead stream, in the log's order (protocol.md §9). */
import { deadLetterMessageId, formatIsoTime, type Refusal } from '../../machines/index.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { type HostContext, isAtHead, isRunning } from './context.ts';
import { appendUntilStored } from './own-entries.ts';

const dataBytesMax = 8_192;

export type DeadLetters = {
  put(message: LogMessage, refusal: Refusal): void;
  /** Resolves when all that were put before have their dead letter. */
  settled(): Promise<unknown>;
  /** The log's head is reached: sends what has no dead letter yet. */
  open(): void;
};

export function createDeadLetters(context: HostContext): DeadLetters {
  const history: DeadLetter[] = [];
  // One after the other: if the newest is in the stream, all before it are.
  let last: Promise<unknown> = Promise.resolve();
  const send = ({ tail, data }: DeadLetter) => {
    const { seq, subject, code } = data;
    context.metrics.dead(code);
    context.logger.warn({ seq, subject, code }, 'entry refused');
    const entry = { tail, data, messageId: deadLetterMessageId(seq), isNeeded: () => isRunning(context) };
    last = last.then(() => appendUntilStored(context, entry));
  };
  return {
    put(message, refusal) {
      if (message.seq <= context.log.deadSeq) return;
      const deadLetter = deadLetterOf(message, refusal);
      if (isAtHead(context)) send(deadLetter);
      else history.push(deadLetter);
    },
    settled: () => last,
    open() {
      for (const deadLetter of history.splice(0)) send(deadLetter);
    },
  };
}

type DeadLetter = ReturnType<typeof deadLetterOf>;

const deadLetterOf = (message: LogMessage, { code, message: text, entity, id }: Refusal) => ({
  tail: `dead.${entity}.${id}`,
  data: {
    ...{ code, message: text, seq: message.seq, at: formatIsoTime(message.atMs) },
    ...{ subject: message.subject, data: textOf(message.data) },
  },
});

/** The first 8 KiB, cut between code points. */
function textOf(data: Uint8Array): string {
  if (data.length <= dataBytesMax) return new TextDecoder().decode(data);
  return new TextDecoder().decode(data.subarray(0, dataBytesMax), { stream: true });
}

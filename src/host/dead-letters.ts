/** Entries that were refused: one copy of each goes to the dead stream, in the log's order (protocol 9). */
import { formatIsoTime, type Refusal } from '../../machines/index.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { appendUntilStored, type HostContext } from './context.ts';

const dataBytesMax = 8_192;

export type DeadLetters = {
  put(message: LogMessage, refusal: Refusal): void;
  /** The log's head is reached: what has no dead letter yet gets one. */
  open(): void;
};

export function createDeadLetters(context: HostContext, isRunning: () => boolean): DeadLetters {
  const history: (() => void)[] = [];
  // One after the other: that the newest stands in the stream proves that all before it do.
  let last: Promise<unknown> = Promise.resolve();
  return {
    put(message, refusal) {
      const { seq } = message;
      if (seq <= context.log.deadSeq) return;
      const { code, message: words, entity, id } = refusal;
      const deadLetter = {
        code,
        message: words,
        seq,
        at: formatIsoTime(message.atMs),
        subject: message.subject,
        data: head(message.data),
      };
      const send = () => {
        context.metrics.dead(code);
        context.logger.warn({ seq, subject: message.subject, code }, 'entry refused');
        last = last.then(() =>
          appendUntilStored(context, `dead.${entity}.${id}`, deadLetter, `dead:${seq}`, isRunning),
        );
      };
      if (context.atHead()) send();
      else history.push(send);
    },
    open() {
      for (const send of history.splice(0)) send();
    },
  };
}

/** The text's first 8 KiB, cut between code points. */
function head(data: Uint8Array): string {
  if (data.length <= dataBytesMax) return new TextDecoder().decode(data);
  return new TextDecoder().decode(data.subarray(0, dataBytesMax), { stream: true });
}

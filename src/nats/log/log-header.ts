/**
 * Headers of a message of the log. The library makes a map of all of them, with each name in its usual case, which takes
 * ten times as long as to look up the two that are asked for. They stand as text before the payload, in the same bytes.
 */
import type { Msg } from '@nats-io/nats-core';

type ReadHeader = (name: string) => string | undefined;

/** @param data `message.data`, which is a new view each time */
export function createHeaderReader(message: Msg, data: Uint8Array): ReadHeader {
  /** Null: not read yet. */
  let text: string | null = null;
  return (name) => {
    text ??= textBefore(message, data);
    return text === '' ? message.headers?.get(name) || undefined : headerIn(text, name);
  };
}

const [begin, end] = ['NATS/1.0', '\r\n\r\n'];

/** The headers as they came; '': there are none, or they do not stand there. */
function textBefore(message: Msg, { buffer, byteOffset, length }: Uint8Array): string {
  // The library's type lacks it: with subject, reply and headers.
  const sized = message as Msg & { size?(): number };
  const bytes = (sized.size?.() ?? 0) - message.subject.length - (message.reply?.length ?? 0) - length;
  if (bytes < begin.length + end.length || bytes > byteOffset) return '';
  const text = Buffer.from(buffer, byteOffset - bytes, bytes).toString();
  return text.startsWith(begin) && text.endsWith(end) ? text : '';
}

/** Returns the first header of that name. An empty one counts as none. */
function headerIn(text: string, name: string): string | undefined {
  const start = text.indexOf(`\r\n${name}:`);
  if (start < 0) return undefined;
  const from = start + name.length + 3;
  return text.slice(from, text.indexOf('\r\n', from)).trim() || undefined;
}

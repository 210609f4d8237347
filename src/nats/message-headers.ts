/**
 * Reads headers that anybody may have written. The library's own parser compares each name with all names before it, so
 * 7,000 headers in 70 KB stop the process for half a second, and it throws if a name has a character that it may not have.
 * The headers precede the payload in the same buffer, so they are searched there, as text.
 */
import type { Msg, MsgHdrs } from '@nats-io/nats-core';

/** Returns a header's first value; undefined if it is missing or empty. */
export type ReadHeader = (name: string) => string | undefined;

/**
 * The bytes of subject, reply, headers and payload, as the server counts a message. The library's class has this method,
 * which its type does not name.
 */
export const sizeOf = (message: Msg): number | undefined => (message as Msg & { size?(): number }).size?.();

/** @param data `message.data`, which is a new view each time */
export function createHeaderReader(message: Msg, data: Uint8Array = message.data): ReadHeader {
  /** Null: not read yet. */
  let block: string | undefined | null = null;
  return (name) => {
    if (block === null) block = blockOf(message, data);
    return block === undefined ? byLibrary(message, (h) => h.get(name) || undefined) : readFrom(block, name);
  };
}

/** The status of a message that the server sends instead of an answer, such as 503; 0: it has none. */
export function statusOf(message: Msg): number {
  const block = blockOf(message, message.data);
  if (block !== undefined) return Number(/^NATS\/1\.0 (\d{3})\b/.exec(block)?.[1] ?? 0);
  return byLibrary(message, ({ code }) => code) ?? 0;
}

const [begin, end] = ['NATS/1.0', '\r\n\r\n'];
/** What the library's parser may get: 400 headers take it a millisecond. */
const libraryBytesMax = 4_096;

/**
 * The headers as text; '': there are none; undefined: they do not precede the payload, or are malformed, and the library may
 * read them.
 */
function blockOf(message: Msg, { buffer, byteOffset, length }: Uint8Array): string | undefined {
  const size = sizeOf(message);
  if (size === undefined) return undefined;
  const bytes = size - Buffer.byteLength(message.subject) - Buffer.byteLength(message.reply ?? '') - length;
  if (bytes <= 0) return '';
  const text = bytes > byteOffset ? '' : Buffer.from(buffer, byteOffset - bytes, bytes).toString();
  if (text.startsWith(begin) && text.endsWith(end)) return text;
  return bytes > libraryBytesMax ? '' : undefined;
}

function readFrom(block: string, name: string): string | undefined {
  const line = `\r\n${name}:`;
  const at = block.indexOf(line);
  if (at < 0) return undefined;
  const from = at + line.length;
  return block.slice(from, block.indexOf('\r\n', from)).trim() || undefined;
}

/** @returns undefined: there are no headers, or they cannot be parsed */
function byLibrary<Value>(message: Msg, read: (headers: MsgHdrs) => Value): Value | undefined {
  try {
    return message.headers === undefined ? undefined : read(message.headers);
  } catch {
    return undefined;
  }
}

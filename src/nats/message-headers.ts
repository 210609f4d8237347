/**
 * Reads untrusted headers. The library's parser takes quadratic time (7,000 headers in 70 KB block the process for half
 * a second) and throws on invalid characters. The headers precede the payload in the same buffer, so we search them
 * there as text.
 */
import type { Msg, MsgHdrs } from '@nats-io/nats-core';

/** Returns a header's first value, or undefined if it is missing or empty. */
export type ReadHeader = (name: string) => string | undefined;

/**
 * Returns the bytes of subject, reply, headers and payload, as the server counts them. The library's class has this
 * method, but its type does not declare it.
 */
export const sizeOf = (message: Msg): number | undefined => (message as Msg & { size?(): number }).size?.();

/** @param data `message.data`, if the caller already has it: the getter creates a new view each time */
export function createHeaderReader(message: Msg, data: Uint8Array = message.data): ReadHeader {
  /** Null until the first call. */
  let block: string | undefined | null = null;
  return (name) => {
    if (block === null) block = blockOf(message, data);
    return block === undefined ? byLibrary(message, (h) => h.get(name) || undefined) : readFrom(block, name);
  };
}

/** Returns the status of a message from the server, such as 503, or 0 if it has none. */
export function statusOf(message: Msg): number {
  const block = blockOf(message, message.data);
  if (block !== undefined) return Number(/^NATS\/1\.0 (\d{3})\b/.exec(block)?.[1] ?? 0);
  return byLibrary(message, ({ code }) => code) ?? 0;
}

const begin = 'NATS/1.0';
const end = '\r\n\r\n';
/** Maximum input for the library's parser, which takes a millisecond for 400 headers. */
const libraryBytesMax = 4_096;

/**
 * Returns the header block as text, or '' if there is none. Undefined if it does not precede the payload or is
 * malformed, and is small enough for the library's parser.
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
  const index = block.indexOf(line);
  if (index < 0) return undefined;
  const from = index + line.length;
  return block.slice(from, block.indexOf('\r\n', from)).trim() || undefined;
}

/** @returns undefined if there are no headers or they cannot be parsed */
function byLibrary<Value>(message: Msg, read: (headers: MsgHdrs) => Value): Value | undefined {
  try {
    return message.headers === undefined ? undefined : read(message.headers);
  } catch {
    return undefined;
  }
}

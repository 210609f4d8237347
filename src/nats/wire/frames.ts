/**
 * Reads the frames of the NATS protocol, in the turn in which their bytes come. Each read is copied into a slab, in which a
 * frame stands in one piece, however it was cut on its way. Messages are views of the slab, so it is never written twice.
 */

/** A message that nobody could handle, or bytes after which nothing on the connection can be trusted. */
export class WireError extends Error {}

export type FrameHandler = {
  /**
   * `bytes`: the headers, if `headerBytes` is above -1, and the payload; they may be kept. `reply`: '' if there is none.
   * `size`: as servers count a message, with its subject and reply.
   */
  onMessage(frame: MessageFrame): void;
  onInfo(json: Uint8Array): void;
  onError(text: Uint8Array): void;
  onPing(): void;
  onPong(): void;
};

export type MessageFrame = {
  readonly sid: number;
  readonly subject: string;
  readonly reply: string;
  readonly bytes: Buffer;
  readonly headerBytes: number;
  readonly size: number;
};

/** As much as a socket is read at once. */
export const slabBytes = 65_536;
/** Of an INFO that names thousands of servers. The other lines have the 4 KiB of `max_control_line`. */
const lineBytesMax = 1_048_576;
/** The largest `max_payload` of NATS, with headers. */
const payloadBytesMax = 67_108_864;

/** Of what cannot be read; it can be a part of what an agent wrote. */
const quotedBytes = 40;
const lineNames = new Set(['PING', 'PONG', 'INFO', '-ERR', '+OK']);

const [lf, cr] = [0x0a, 0x0d];
const [h, m] = [0x48, 0x4d];

export class FrameReader {
  readonly #handler: FrameHandler;
  #slab = Buffer.allocUnsafeSlow(slabBytes);
  /** From here to the end stands what is not handled yet. */
  #start = 0;
  #end = 0;
  /** The frame at the start has at least so many bytes. */
  #wanted = 1;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** Copies `bytes`, and calls the handler for each frame that is complete. @throws WireError */
  read(bytes: Uint8Array): void {
    if (this.#end + bytes.length > this.#slab.length) this.#moveToNewSlab(bytes.length);
    this.#slab.set(bytes, this.#end);
    this.#end += bytes.length;
    while (this.#end - this.#start >= this.#wanted) if (!this.#readFrame()) return;
  }

  #moveToNewSlab(bytes: number): void {
    const left = this.#end - this.#start;
    const slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, this.#wanted, 2 * left + bytes));
    slab.set(this.#slab.subarray(this.#start, this.#end));
    [this.#slab, this.#start, this.#end] = [slab, 0, left];
  }

  /** @returns false: the rest of it has not come yet */
  #readFrame(): boolean {
    const slab = this.#slab;
    const start = this.#start;
    const lineEnd = slab.indexOf(lf, start);
    if (lineEnd < 0 || lineEnd >= this.#end) {
      const length = this.#end - start;
      if (length > lineBytesMax) throw this.#notAFrame(`a line of more than ${lineBytesMax} bytes`);
      this.#wanted = length + 1;
      return false;
    }
    if (slab[lineEnd - 1] !== cr || lineEnd === start) throw this.#notAFrame('a line without its end');
    const isMessage = slab[start] === m || slab[start] === h;
    return isMessage ? this.#readMessage(lineEnd) : this.#readLine(lineEnd);
  }

  #readMessage(lineEnd: number): boolean {
    const slab = this.#slab;
    const start = this.#start;
    const line = slab.toString('utf8', start, lineEnd - 1);
    const hasHeaders = slab[start] === h;
    const verb = hasHeaders ? 'HMSG ' : 'MSG ';
    const subjectEnd = line.indexOf(' ', verb.length);
    const sidEnd = line.indexOf(' ', subjectEnd + 1);
    const lengthAt = line.lastIndexOf(' ');
    const sizesAt = hasHeaders ? line.lastIndexOf(' ', lengthAt - 1) : lengthAt;
    const subject = line.slice(verb.length, subjectEnd);
    const reply = line.slice(sidEnd + 1, sizesAt);
    if (!line.startsWith(verb) || subjectEnd < 0 || sizesAt < sidEnd || reply.includes(' '))
      throw this.#notAFrame('a message');
    const sid = toCount(line, subjectEnd + 1, sidEnd);
    const length = toCount(line, lengthAt + 1, line.length);
    const headerBytes = hasHeaders ? toCount(line, sizesAt + 1, lengthAt) : -1;
    // One that is no number is NaN, which compares with nothing.
    if (!(sid >= 0 && length <= payloadBytesMax && headerBytes <= length)) throw this.#notAFrame('sizes');
    const from = lineEnd + 1;
    const to = from + length;
    if (this.#end < to + 2) {
      this.#wanted = to + 2 - start;
      return false;
    }
    if (slab[to] !== cr || slab[to + 1] !== lf) throw this.#notAFrame('a message without its end');
    this.#passTo(to + 2);
    const isAscii = line.length === lineEnd - 1 - start;
    const named = isAscii ? subject.length + reply.length : Buffer.byteLength(subject) + Buffer.byteLength(reply);
    const bytes = slab.subarray(from, to);
    this.#handler.onMessage({ sid, subject, reply, bytes, headerBytes, size: named + length });
    return true;
  }

  #readLine(lineEnd: number): boolean {
    const slab = this.#slab;
    const start = this.#start;
    const [name = ''] = slab.toString('latin1', start, Math.min(lineEnd - 1, start + 5)).split(' ');
    if (!lineNames.has(name)) throw this.#notAFrame('a line');
    const rest = slab.subarray(Math.min(lineEnd - 1, start + name.length + 1), lineEnd - 1);
    this.#passTo(lineEnd + 1);
    if (name === 'PING') this.#handler.onPing();
    else if (name === 'PONG') this.#handler.onPong();
    else if (name === 'INFO') this.#handler.onInfo(rest);
    else if (name === '-ERR') this.#handler.onError(rest);
    return true;
  }

  #passTo(next: number): void {
    this.#wanted = 1;
    this.#start = next;
    // One that was made for a large frame would be kept by each of the small ones behind it.
    if (this.#slab.length > slabBytes) this.#moveToNewSlab(0);
  }

  #notAFrame(what: string): WireError {
    const text = this.#slab.toString('latin1', this.#start, Math.min(this.#end, this.#start + quotedBytes));
    return new WireError(`the NATS server sent ${what} that cannot be read: ${JSON.stringify(text)}`);
  }
}

/** Reads the decimal number from `from` to before `to`. NaN: there is none. */
function toCount(text: string, from: number, to: number): number {
  if (to <= from || to - from > 15) return Number.NaN;
  let count = 0;
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return Number.NaN;
    count = count * 10 + digit;
  }
  return count;
}

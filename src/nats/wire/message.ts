/** A message as its subscriber gets it. What of it nobody asks for is not decoded. */
import type { MsgHdrs, Publisher, PublishOptions, ReviverFn } from '@nats-io/nats-core';
import { MsgHdrsImpl } from '../client-library.ts';
import type { MessageFrame } from './frames.ts';

/**
 * Headers to send, as text. The library asks of headers only what their bytes are, and its own class checks and keeps each name
 * and value in several forms, which takes as long as the rest of publishing an entry.
 */
export class HeaderText {
  readonly text: string;

  /** @param text with its first line and the empty last one */
  constructor(text: string) {
    this.text = text;
  }

  encode(): Uint8Array {
    return Buffer.from(this.text);
  }
}

export class WireMessage {
  readonly #frame: MessageFrame;
  readonly #publisher: Publisher;
  #headers: MsgHdrs | undefined;

  constructor(frame: MessageFrame, publisher: Publisher) {
    this.#frame = frame;
    this.#publisher = publisher;
  }

  get sid(): number {
    return this.#frame.sid;
  }

  get subject(): string {
    return this.#frame.subject;
  }

  get reply(): string {
    return this.#frame.reply;
  }

  get data(): Uint8Array {
    const { bytes, headerBytes } = this.#frame;
    return headerBytes > 0 ? bytes.subarray(headerBytes) : bytes;
  }

  get headers(): MsgHdrs | undefined {
    const { bytes, headerBytes } = this.#frame;
    if (headerBytes < 0) return undefined;
    this.#headers ??= MsgHdrsImpl.decode(bytes.subarray(0, headerBytes));
    return this.#headers;
  }

  /** The headers as they came; '' if there are none, or they are none. */
  headerText(): string {
    const { bytes, headerBytes } = this.#frame;
    const text = headerBytes > 0 ? bytes.toString('utf8', 0, headerBytes) : '';
    return text.startsWith('NATS/1.0') && text.endsWith('\r\n\r\n') ? text : '';
  }

  respond(data: Uint8Array | string = '', options?: PublishOptions): boolean {
    if (this.#frame.reply === '') return false;
    this.#publisher.publish(this.#frame.reply, data, options);
    return true;
  }

  /** The payload as text. A byte order mark is no part of it. */
  string(): string {
    const { bytes, headerBytes } = this.#frame;
    const from = Math.max(0, headerBytes);
    const isMarked = bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf;
    return bytes.toString('utf8', isMarked ? from + 3 : from);
  }

  json<T>(reviver?: ReviverFn): T {
    return JSON.parse(this.string(), reviver) as T;
  }

  /** With subject, reply and headers, as the server counts it. */
  size(): number {
    return this.#frame.size;
  }
}

/**
 * A connection of the NATS library whose frames are read and written by our own code: at once, and without what the
 * library makes for each message (decision 014). Dialling, credentials, reconnects, subscriptions, requests and pings
 * remain the library's. All that we need of its inside is named here, and it must be as we know it.
 */
import type { ConnectionOptions, Msg, NatsConnection, Publisher, PublishOptions } from '@nats-io/nats-core';
import { deferred, libraryVersion, NatsConnectionImpl, ProtocolHandler } from '../client-library.ts';
import { type FrameHandler, FrameReader, type MessageFrame, WireError } from './frames.ts';
import { HeaderText, WireMessage } from './message.ts';
import { SendBuffer } from './send-buffer.ts';

/** What a transport knows of it, as the option `wire`: where it hands the bytes that it reads. */
export type Wire = { receive(bytes: Uint8Array): void };
type Connection = NatsConnection & Publisher & { readonly options: ConnectionOptions; protocol: Protocol };
type Protocol = InstanceType<typeof ProtocolHandler>;
export type WireOptions = ConnectionOptions & { wire?: Wire };

const mismatches = new WeakMap<NatsConnection, string>();

/** Why a connection is the library's alone; null: it is not. */
export function whyByLibrary(nc: NatsConnection): string | null {
  const isOverWire = (nc as Connection).protocol instanceof WireProtocol;
  return isOverWire ? null : (mismatches.get(nc) ?? 'it was asked for');
}

/** @param version of the library */
export async function connectOverWire(options: ConnectionOptions, version = libraryVersion): Promise<NatsConnection> {
  const nc = new Connection(options);
  const protocol = version === knownVersion ? new WireProtocol(nc.options, nc) : null;
  const mismatch = protocol === null ? `its version is ${version}, not ${knownVersion}` : findMismatch(protocol);
  if (protocol === null || mismatch !== null) {
    const plain = await NatsConnectionImpl.connect(options);
    mismatches.set(plain, mismatch ?? '');
    return plain;
  }
  (nc.options as WireOptions).wire = protocol;
  await protocol.dialLoop();
  nc.protocol = protocol;
  return nc;
}

/** Its constructor is private to the library's types. */
const Connection = NatsConnectionImpl as unknown as new (options: ConnectionOptions) => Connection;
const knownVersion = '3.4.0';
const called = ['processInfo', 'processError', 'processPing', 'processPong', 'dispatchStatus'] as const;
const overridden = ['resetOutbound', 'publish', 'sendCommand', 'flush', 'close', 'disconnected'] as const;
const counts = ['inMsgs', 'inBytes', 'outMsgs', 'outBytes'] as const;

/** What of the library's inside is not as we know it; null: nothing. */
export function findMismatch(protocol: Protocol): string | null {
  const inside: Record<string, unknown> = protocol as never;
  const library: Record<string, unknown> = Object.getPrototypeOf(WireProtocol.prototype) as never;
  const lacks = [
    ...[...called, ...overridden].filter((name) => typeof library[name] !== 'function'),
    ...counts.filter((name) => inside[name] !== 0),
    ...['connected', 'infoReceived'].filter((name) => inside[name] !== false),
    ...['parser', 'transport', 'connectError', 'info'].filter((name) => !(name in inside)),
    ...(protocol.subscriptions?.subs instanceof Map ? [] : ['subscriptions']),
    ...(protocol.outbound?.size?.() === 0 ? [] : ['outbound']),
    ...(Array.isArray(protocol.pongs) ? [] : ['pongs']),
  ];
  return lacks.length === 0 ? null : `it has no ${lacks.join(', ')} as ${knownVersion} has`;
}

export class WireProtocol extends ProtocolHandler implements Wire, FrameHandler {
  readonly #out = new SendBuffer((bytes) => this.transport.send(bytes));
  /** Null: what came cannot be read, so neither can what follows. */
  #frames: FrameReader | null = new FrameReader(this);

  receive(bytes: Uint8Array): void {
    try {
      this.#frames?.read(bytes);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#frames = null;
      this.connectError?.(error);
      const { transport } = this;
      // A connection that is just being made would not notice its end before it is.
      setImmediate(() => void transport.close(error));
    }
  }

  onMessage(frame: MessageFrame): void {
    this.inMsgs += 1;
    this.inBytes += frame.bytes.length;
    const subscription = this.subscriptions.subs.get(frame.sid);
    if (subscription === undefined) return;
    subscription.received += 1;
    try {
      subscription.callback(null, new WireMessage(frame, this) as Msg);
    } catch (cause) {
      // What follows is for others.
      const error = new WireError(`a message at ${frame.subject} could not be handled`, { cause });
      this.dispatchStatus({ type: 'error', error });
    }
    if (subscription.max !== undefined && subscription.received >= subscription.max) subscription.unsubscribe();
  }

  onInfo(json: Uint8Array): void {
    this.processInfo(json);
  }

  onError(text: Uint8Array): void {
    this.processError(text);
  }

  onPing(): void {
    this.processPing();
  }

  onPong(): void {
    this.processPong();
  }

  /** Of each new connection, before it is dialled. */
  override resetOutbound(): void {
    super.resetOutbound();
    this.#frames = new FrameReader(this);
    // A transport that reads as a stream, as over TLS, has its bytes parsed by this.
    this.parser = { parse: (bytes: Uint8Array) => this.receive(bytes) } as typeof this.parser;
  }

  override disconnected(error?: Error): Promise<void> {
    if (error instanceof WireError) this.dispatchStatus({ type: 'error', error });
    return super.disconnected(error);
  }

  override publish(subject: string, payload: Uint8Array | string = '', options: PublishOptions = {}): void {
    const { reply = '', headers } = options;
    // As text it is written with the line before it.
    const block = headers === undefined ? '' : headers instanceof HeaderText ? headers.text : encodeHeaders(headers);
    const blockBytes = bytesOf(block);
    const bytes = blockBytes + bytesOf(payload);
    // What it refuses, the library refuses in its own words.
    if (!this.#isOpen() || !(bytes <= (this.info?.max_payload ?? 0))) {
      super.publish(subject, payload, options);
      return;
    }
    this.outMsgs += 1;
    this.outBytes += bytes;
    const to = reply === '' ? subject : `${subject} ${reply}`;
    const bytesMax = to.length * utf8BytesMax + lineRestBytesMax + bytes;
    if (block === '') this.#out.push(bytesMax, `PUB ${to} ${bytes}\r\n`, payload, '\r\n');
    else this.#out.push(bytesMax, `HPUB ${to} ${blockBytes} ${bytes}\r\n${block}`, payload, '\r\n');
  }

  override sendCommand(command: string | Uint8Array, ...payloads: Uint8Array[]): void {
    if (!this.#isOpen()) {
      super.sendCommand(command, ...payloads);
      return;
    }
    const bytes = payloads.length === 0 ? command : Buffer.concat([Buffer.from(command as string), ...payloads]);
    this.#out.push(bytes.length * utf8BytesMax, bytes);
  }

  override flush(done = deferred<void>()): Promise<void> {
    if (!this.#isOpen()) return super.flush(done);
    this.pongs.push(done);
    this.#out.push(ping.length, ping);
    return done;
  }

  override close(error?: Error): Promise<void> {
    this.#out.flush();
    return super.close(error);
  }

  /** Else the library keeps what is sent until it is connected. */
  #isOpen(): boolean {
    return this.connected && this.infoReceived && this.outbound.size() === 0;
  }
}

/** Of headers that the library made; theirs is UTF-8, and so is what is written. */
const encodeHeaders = (headers: object): string =>
  Buffer.from((headers as { encode(): Uint8Array }).encode()).toString();
const bytesOf = (part: string | Uint8Array): number =>
  typeof part === 'string' ? Buffer.byteLength(part) : part.length;
const ping = 'PING\r\n';
/** Of one unit of a string's length. */
const utf8BytesMax = 3;
/** The verb, two sizes, and the ends of line and payload. */
const lineRestBytesMax = 64;

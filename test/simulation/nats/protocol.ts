/** The part of the NATS protocol that the simulation needs. Our client's frames contain complete commands. */

export type Message = {
  readonly subject: string;
  /** '' if there is none. */
  readonly reply: string;
  /** Includes the first line, `NATS/1.0`. Null if there are no headers. */
  readonly header: Buffer | null;
  readonly data: Buffer;
};

export type Command =
  | { readonly kind: 'connect' | 'ping' | 'pong' }
  | { readonly kind: 'pub'; readonly message: Message }
  | { readonly kind: 'sub'; readonly subject: string; readonly queue: string | null; readonly sid: string }
  | { readonly kind: 'unsub'; readonly sid: string; readonly max: number | null };

export const empty = Buffer.alloc(0);

/** @throws Error for a command that the simulation does not support */
export function readCommands(bytes: Uint8Array): Command[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const commands: Command[] = [];
  for (let at = 0; at < buffer.length; ) {
    const end = buffer.indexOf('\r\n', at);
    const [verb = '', ...tokens] = buffer.toString('latin1', at, end).trim().split(/\s+/);
    at = end + 2;
    const name = verb.toUpperCase();
    if (name === 'PUB' || name === 'HPUB') {
      const total = Number(tokens.at(-1));
      const headerBytes = name === 'HPUB' ? Number(tokens.at(-2)) : 0;
      const [subject = '', reply = ''] = tokens.slice(0, name === 'HPUB' ? -2 : -1);
      const header = headerBytes === 0 ? null : buffer.subarray(at, at + headerBytes);
      commands.push({
        kind: 'pub',
        message: { subject, reply, header, data: buffer.subarray(at + headerBytes, at + total) },
      });
      at += total + 2;
    } else commands.push(readLine(name, tokens));
  }
  return commands;
}

function readLine(name: string, tokens: readonly string[]): Command {
  const [first = '', second = '', third] = tokens;
  switch (name) {
    case 'CONNECT':
      return { kind: 'connect' };
    case 'PING':
      return { kind: 'ping' };
    case 'PONG':
      return { kind: 'pong' };
    case 'SUB':
      return { kind: 'sub', subject: first, queue: third === undefined ? null : second, sid: third ?? second };
    case 'UNSUB':
      return { kind: 'unsub', sid: first, max: second === '' ? null : Number(second) };
    default:
      throw new Error(`the simulated server does not know ${name}`);
  }
}

const crlf = Buffer.from('\r\n');

export function writeMessage({ subject, reply, header, data }: Message, sid: string): Buffer {
  const to = `${subject} ${sid}${reply === '' ? '' : ` ${reply}`}`;
  if (header === null) return Buffer.concat([Buffer.from(`MSG ${to} ${data.length}\r\n`), data, crlf]);
  const sizes = `${header.length} ${header.length + data.length}`;
  return Buffer.concat([Buffer.from(`HMSG ${to} ${sizes}\r\n`), header, data, crlf]);
}

/** `status`: such as `503` or `100 Idle Heartbeat`, or null. */
export function writeHeader(status: string | null, fields: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`NATS/1.0${status === null ? '' : ` ${status}`}\r\n${lines.join('')}\r\n`);
}

export function readField(header: Buffer | null, name: string): string | undefined {
  if (header === null) return undefined;
  const start = `${name.toLowerCase()}:`;
  const line = header
    .toString()
    .split('\r\n')
    .find((it) => it.toLowerCase().startsWith(start));
  return line?.slice(start.length).trim() || undefined;
}

/** Matches subject tokens against a pattern with wildcards. */
export function matches(pattern: readonly string[], tokens: readonly string[]): boolean {
  for (let index = 0; index < pattern.length; index += 1) {
    if (pattern[index] === '>') return tokens.length > index;
    if (index >= tokens.length || (pattern[index] !== '*' && pattern[index] !== tokens[index])) return false;
  }
  return pattern.length === tokens.length;
}

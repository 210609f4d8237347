/** The reader of frames and the messages it gives, compared with the NATS library's own parser. */
import { Kind, type Msg, type MsgArg, MsgImpl, Parser, type ParserEvent } from '@nats-io/nats-core/internal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FrameHandler, FrameReader, slabBytes, WireError } from '../../../../src/nats/wire/frames.ts';
import { WireMessage } from '../../../../src/nats/wire/message.ts';

type Seen = readonly (string | number | undefined)[];

/** All that a subscriber can see of a message. */
const seenOf = (message: Msg): Seen => [
  'msg',
  message.sid,
  message.subject,
  message.reply,
  message.string(),
  Buffer.from(message.data).toString('hex'),
  (message as Msg & { size(): number }).size(),
  headersOf(message),
];

/** Of some nobody can read, and servers deliver them. */
function headersOf(message: Msg): string | undefined {
  try {
    const { headers } = message;
    return headers === undefined ? undefined : JSON.stringify([headers.status, [...headers]]);
  } catch (error) {
    return (error as Error).message;
  }
}

const nobody = { publish: () => {} } as never;

function collect(): { readonly seen: Seen[]; readonly handler: FrameHandler } {
  const seen: Seen[] = [];
  const handler: FrameHandler = {
    onMessage: (frame) => seen.push(seenOf(new WireMessage(frame, nobody) as Msg)),
    onInfo: (json) => seen.push(['info', json.toString()]),
    onError: (text) => seen.push(['error', text.toString()]),
    onPing: () => seen.push(['ping']),
    onPong: () => seen.push(['pong']),
  };
  return { seen, handler };
}

const textOf = (data: Uint8Array = Buffer.of()) => Buffer.from(data).toString();

function parseByLibrary(bytes: Uint8Array): Seen[] {
  const seen: Seen[] = [];
  const push = (event: ParserEvent) => {
    if (event.kind === Kind.MSG)
      seen.push(seenOf(new MsgImpl(event.msg as MsgArg, event.data as Uint8Array, nobody) as Msg));
    else if (event.kind === Kind.INFO) seen.push(['info', textOf(event.data)]);
    else if (event.kind === Kind.ERR) seen.push(['error', textOf(event.data)]);
    else if (event.kind === Kind.PING) seen.push(['ping']);
    else if (event.kind === Kind.PONG) seen.push(['pong']);
  };
  new Parser({ push }).parse(bytes);
  return seen;
}

function readIn(pieces: readonly Uint8Array[]): Seen[] {
  const { seen, handler } = collect();
  const reader = new FrameReader(handler);
  for (const piece of pieces) {
    // The socket reads into the same buffer again.
    const borrowed = Buffer.from(piece);
    reader.read(borrowed);
    borrowed.fill(0xff);
  }
  return seen;
}

/** `lengths`: of the pieces, taken round and round. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, index = 0; at < bytes.length; index += 1) {
    const length = lengths[index % lengths.length] ?? 1;
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

const frameOf = (line: string, ...rest: readonly Uint8Array[]) =>
  Buffer.concat([Buffer.from(line), ...rest, ...(rest.length > 0 ? [Buffer.from('\r\n')] : [])]);
const subject = fc.constantFrom('a', 'stopgate.main.worker.w1.stop.attempted', 'w.ü.→', '_INBOX.1.$');
const reply = fc.constantFrom('', ' _INBOX.x', ' $JS.ACK.S.C.1.5.1.99.0', ' ä');
const sid = fc.nat(1_000_000);
const text = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.string({ unit: 'binary' }).map((it) => Buffer.from(it)),
);
const marked = text.map((it) => Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), it]));
const large = fc.integer({ min: 60_000, max: 200_000 }).map((length) => Buffer.alloc(length, 'x\r\nMSG a 1 1\r\n'));
const payload = fc.oneof(
  { arbitrary: text, weight: 8 },
  { arbitrary: marked, weight: 1 },
  { arbitrary: large, weight: 1 },
);
const header = fc
  .array(fc.tuple(fc.constantFrom('Nats-Msg-Id', 'x', 'Stopgate-Reply'), fc.constantFrom('', 'w1:a1', 'ü: 1')), {
    maxLength: 4,
  })
  .chain((fields) =>
    fc
      .constantFrom('NATS/1.0', 'NATS/1.0 503', 'NATS/1.0 100 Idle Heartbeat')
      .map((first) =>
        Buffer.from(`${first}\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`),
      ),
  );
const frame = fc.oneof(
  fc
    .tuple(subject, sid, reply, payload)
    .map(([to, id, back, data]) => frameOf(`MSG ${to} ${id}${back} ${data.length}\r\n`, data)),
  fc
    .tuple(subject, sid, reply, header, payload)
    .map(([to, id, back, head, data]) =>
      frameOf(`HMSG ${to} ${id}${back} ${head.length} ${head.length + data.length}\r\n`, head, data),
    ),
  fc
    .constantFrom('PING\r\n', 'PONG\r\n', '+OK\r\n', 'INFO {"server_id":"ü"}\r\n', "-ERR 'Stale Connection'\r\n")
    .map((it) => Buffer.from(it)),
);

describe('frames of a server', () => {
  test('give the same as by the library, however they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 12 }),
        fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: slabBytes })), {
          minLength: 1,
          maxLength: 8,
        }),
        (frames, lengths) => {
          const bytes = Buffer.concat(frames);
          expect(readIn(cut(bytes, lengths))).toEqual(parseByLibrary(Uint8Array.from(bytes)));
        },
      ),
    );
  });

  test('are read one byte at a time', () => {
    const bytes = Buffer.from('INFO {}\r\nMSG a 1 5\r\nhello\r\nHMSG b 2 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPING\r\n');
    expect(readIn(cut(bytes, [1])).map(([kind]) => kind)).toEqual(['info', 'msg', 'msg', 'ping']);
  });

  test('that are large leave no large buffer behind them', () => {
    const buffers: number[] = [];
    const reader = new FrameReader({
      ...collect().handler,
      onMessage: ({ bytes }) => buffers.push(bytes.buffer.byteLength),
    });
    const data = Buffer.alloc(1_000_000);
    for (const piece of cut(frameOf(`MSG a 1 ${data.length}\r\n`, data), [slabBytes])) reader.read(piece);
    for (let count = 0; count < 10; count += 1) reader.read(Buffer.from('MSG a 1 1\r\nx\r\n'));
    const [first, ...others] = buffers;
    expect(first).toBeLessThan(1_100_000);
    expect(new Set(others)).toEqual(new Set([slabBytes]));
  });

  test('are read on after a subscriber has thrown', () => {
    const { seen, handler } = collect();
    const reader = new FrameReader({
      ...handler,
      onMessage: () => {
        throw new Error('a bug of a subscriber');
      },
    });
    expect(() => reader.read(Buffer.from('MSG a 1 1\r\nx\r\nPI'))).toThrow('a bug of a subscriber');
    reader.read(Buffer.from('NG\r\n'));
    expect(seen).toEqual([['ping']]);
  });
});

describe('what is no frame', () => {
  test.each([
    ['HTTP/1.1 400 Bad Request\r\n', 'a message'],
    ['GET / HTTP/1.1\r\n', 'a line'],
    ['PINGS\r\n', 'a line'],
    ['ping\r\n', 'a line'],
    ['\r\n', 'a line'],
    ['\n', 'a line without its end'],
    ['PING\n', 'a line without its end'],
    ['MSG a 1\r\n', 'a message'],
    ['MSG a 1 b c 1\r\n', 'a message'],
    ['MSGS a 1 1\r\n', 'a message'],
    ['HMSG a 1 1\r\n', 'a message'],
    ['MSG a x 1\r\n', 'sizes'],
    ['MSG a 1 -1\r\n', 'sizes'],
    ['MSG a 1 1e3\r\n', 'sizes'],
    ['MSG a 1 \r\n', 'sizes'],
    ['MSG a 1 9999999999999999\r\n', 'sizes'],
    ['MSG a 1 67108865\r\n', 'sizes'],
    ['HMSG a 1 13 12\r\n', 'sizes'],
    ['MSG a 1 1\r\nxyz', 'a message without its end'],
  ])('%j is refused', (bytes, what) => {
    const { seen, handler } = collect();
    const reader = new FrameReader(handler);
    const quoted = JSON.stringify(bytes.slice(0, 40));
    expect(() => reader.read(Buffer.from(`PING\r\n${bytes}`))).toThrow(
      new WireError(`the NATS server sent ${what} that cannot be read: ${quoted}`),
    );
    expect(seen).toEqual([['ping']]);
  });

  test('is quoted only as far as it was received, and for some bytes', () => {
    const short = new FrameReader(collect().handler);
    expect(() => short.read(Buffer.from('nothing\r\n'))).toThrow(/: "nothing\\r\\n"$/);
    const long = new FrameReader(collect().handler);
    expect(() => long.read(Buffer.from(`${'secret '.repeat(20)}\r\n`))).toThrow(/: "(?:secret ){5}secre"$/);
  });

  test('is refused as a line that never ends once it is too long', () => {
    const reader = new FrameReader(collect().handler);
    const piece = Buffer.alloc(slabBytes, 'x');
    const readOn = (pieces: number) => {
      for (let count = 0; count < pieces; count += 1) reader.read(piece);
    };
    readOn(16);
    expect(() => readOn(1)).toThrow('a line of more than 1048576 bytes');
  });

  test('never does anything but fail clearly, whatever the bytes are', () => {
    const alphabet = [...'MSGHPINFOEROK+-', ' ', '0', '1', '9', '\r', '\n', '\r\n', 'a', '\0', 'ÿ'];
    const noise = fc.oneof(
      fc.array(fc.constantFrom(...alphabet), { maxLength: 60 }).map((it) => Buffer.from(it.join(''), 'latin1')),
      fc.tuple(fc.array(frame, { minLength: 1, maxLength: 4 }), fc.nat(), fc.nat(255)).map(([frames, at, byte]) => {
        const bytes = Buffer.concat(frames);
        bytes[at % bytes.length] = byte;
        return bytes;
      }),
    );
    fc.assert(
      fc.property(
        noise,
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 }),
        (bytes, lengths) => {
          const readAll = (pieces: readonly Buffer[]) => {
            const { seen, handler } = collect();
            const reader = new FrameReader(handler);
            try {
              for (const piece of pieces) reader.read(piece);
            } catch (error) {
              expect(error).toBeInstanceOf(WireError);
              return { seen, failed: true };
            }
            return { seen, failed: false };
          };
          expect(readAll(cut(bytes, lengths))).toEqual(readAll([bytes]));
        },
      ),
    );
  });
});

/** The connection of the service, whose frames are read and written by our own code, on real servers. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { NatsConnection, Status } from '@nats-io/nats-core';
import { headers } from '@nats-io/nats-core';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { connectByWire, connectToNats, openConnection, WireError, whyByLibrary } from '../../../src/nats/connection.ts';
import { slabBytes } from '../../../src/nats/wire/frames.ts';
import { connectOverWire, WireProtocol } from '../../../src/nats/wire/protocol.ts';
import { hasOpenssl, makeAuthority } from '../../support/authority.ts';
import { type NatsServerOptions, startNatsServer } from '../../support/nats-server.ts';
import { openTcpProxy } from '../../support/tcp-proxy.ts';
import { freePorts } from '../../system/faults/ports.ts';

const opened: NatsConnection[] = [];
afterEach(async () => {
  for (const nc of opened.splice(0)) await nc.close();
});

async function open(url: string, options: { readonly tls?: object } = {}) {
  const connect: typeof connectByWire = (given) => connectByWire({ ...given, ...options });
  const nc = await openConnection({ url, name: 'wire', patient: true, connect });
  opened.push(nc);
  expect((nc as unknown as { protocol: object }).protocol).toBeInstanceOf(WireProtocol);
  return nc;
}

async function start(options: NatsServerOptions = {}) {
  const server = await startNatsServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** What the connection says of itself, from now on. */
function listen(nc: NatsConnection): Status[] {
  const heard: Status[] = [];
  void (async () => {
    for await (const status of nc.status()) heard.push(status);
  })();
  return heard;
}

const kindsOf = (heard: readonly Status[]) => heard.map(({ type }) => type);

/** The payloads that arrive at `subject`. */
async function collect(nc: NatsConnection, subject: string): Promise<string[]> {
  const seen: string[] = [];
  nc.subscribe(subject, { callback: (_error, message) => void seen.push(message.string()) });
  await nc.flush();
  return seen;
}

describe('over TCP', () => {
  test.each([
    { by: 'the library', connect: connectToNats },
    { by: 'the wire', connect: connectByWire },
  ])('messages, headers, requests, iterators and limits are the same by $by', async ({ connect }) => {
    const server = await start({ config: 'max_payload: 4MB\n' });
    const nc = await openConnection({ url: server.url, name: 'wire', patient: true, connect });
    opened.push(nc);
    nc.subscribe('echo.>', {
      callback: (_error, message) => {
        const { headers: given } = message;
        message.respond(message.data, given === undefined ? {} : { headers: given });
      },
    });
    const h = headers();
    h.set('Nats-Msg-Id', 'ü');
    const reply = await nc.request('echo.ü', 'payload ü', { headers: h, timeout: 30_000 });
    expect([reply.string(), reply.headers?.get('Nats-Msg-Id')]).toEqual(['payload ü', 'ü']);
    const largest = Buffer.alloc(4 * 1_048_576, 'x\r\nMSG a 1 1\r\n');
    expect(Buffer.compare((await nc.request('echo.large', largest, { timeout: 10_000 })).data, largest)).toBe(0);
    expect(() => nc.publish('echo.large', Buffer.alloc(largest.length + 1))).toThrow('max_payload');
    expect(() => nc.publish('a b')).toThrow('illegal');
    expect(() => nc.publish('echo.number', 7 as never)).toThrow('payload types');
    await expect(nc.request('nobody')).rejects.toThrow('no responders');
    const two = nc.subscribe('two', { max: 2 });
    for (const text of ['1', '2', '3']) nc.publish('two', text);
    const texts: string[] = [];
    for await (const message of two) texts.push(message.string());
    expect(texts).toEqual(['1', '2']);
    expect(nc.stats()).toMatchObject({ inMsgs: 7, outMsgs: 8 });
  });

  test('a message is handled in the turn in which its bytes are read, and what that turn sends is one write', async () => {
    const server = await start();
    const nc = await open(server.url);
    const heard = await collect(nc, 'b');
    const { transport } = (nc as unknown as { protocol: { transport: { send(bytes: Uint8Array): void } } }).protocol;
    const send = transport.send.bind(transport);
    const writes: string[] = [];
    transport.send = (bytes) => {
      writes.push(Buffer.from(bytes).toString());
      send(bytes);
    };
    let stack = '';
    nc.subscribe('a', {
      callback: (_error, message) => {
        stack = new Error().stack ?? '';
        message.respond('1');
        nc.publish('b', '2');
      },
    });
    nc.publish('a', '', { reply: 'b' });
    await expect.poll(() => heard).toEqual(['1', '2']);
    expect(writes).toEqual(['SUB a 2\r\nPUB a b 0\r\n\r\n', 'PUB b 1\r\n1\r\nPUB b 1\r\n2\r\n']);
    expect(stack).toMatch(/transport\.ts[\s\S]*onStreamRead/);
  });

  test('what is read at once is copied once: many frames share a slab', async () => {
    const server = await start();
    const nc = await open(server.url);
    const slabs = new Set<ArrayBufferLike>();
    let received = 0;
    let bytes = 0;
    nc.subscribe('many', {
      callback: (_error, { data }) => {
        slabs.add(data.buffer);
        received += 1;
        bytes += `MSG many 1 ${data.length}\r\n\r\n`.length + data.length;
      },
    });
    await nc.flush();
    const other = await open(server.url);
    for (let index = 0; index < 8_000; index += 1) other.publish('many', 'x'.repeat(100));
    await expect.poll(() => received).toBe(8_000);
    // The first one has the frames of the handshake too, and no read fills a slab to its end.
    expect(slabs.size).toBeLessThan(bytes / (slabBytes / 3));
  });

  test('what is published right before the end arrives', async () => {
    const server = await start();
    const seen = await collect(await open(server.url), 'last.>');
    const nc = await open(server.url);
    nc.publish('last.close', 'closed');
    await nc.close();
    const other = await open(server.url);
    other.publish('last.drain', 'drained');
    await other.drain();
    await expect.poll(() => seen.toSorted()).toEqual(['closed', 'drained']);
  });

  test('headers that nobody can read, and a subscriber that fails, harm nobody else', async () => {
    const server = await start();
    const nc = await open(server.url);
    const heard = listen(nc);
    const seen: unknown[] = [];
    nc.subscribe('a', {
      callback: (_error, message) => {
        seen.push([message.string(), message.headers?.get('x') ?? null]);
        if (message.string() === 'bad') throw new Error('a subscriber that fails');
      },
    });
    const raw = { encode: () => Buffer.from('NATS/1.0\r\n bad name: x\r\nx: y\r\n\r\n') } as never;
    nc.publish('a', 'bad', { headers: raw });
    nc.publish('a', 'good');
    await nc.flush();
    await expect
      .poll(() => seen)
      .toEqual([
        ['bad', 'y'],
        ['good', null],
      ]);
    expect(heard).toEqual([expect.objectContaining({ type: 'error', error: expect.any(WireError) })]);
    expect(heard[0]).toHaveProperty('error.message', 'a message at a could not be handled');
  });

  test('after a kill it is connected again, and subscribed', async () => {
    const server = await start();
    const nc = await open(server.url);
    const heard = listen(nc);
    const seen = await collect(nc, 'a');
    for (let round = 1; round <= 3; round += 1) {
      await server.kill();
      await server.restart();
      await expect.poll(() => kindsOf(heard).filter((it) => it === 'reconnect').length).toBe(round);
      nc.publish('a', `after ${round}`);
      await nc.flush();
      await expect.poll(() => seen.at(-1)).toBe(`after ${round}`);
    }
    expect(kindsOf(heard)).not.toContain('error');
  });

  test('a server that reads nothing for a while gets all of it, in order', async () => {
    const server = await start({ config: 'max_payload: 1MB\nmax_pending: 64MB\n' });
    const nc = await open(server.url);
    const seen: number[] = [];
    nc.subscribe('a', { callback: (_error, message) => void seen.push(Number(message.string().slice(0, 4))) });
    await nc.flush();
    await server.kill('SIGSTOP');
    const count = 30;
    for (let index = 0; index < count; index += 1) nc.publish('a', `${1_000 + index}${'x'.repeat(500_000)}`);
    await new Promise((done) => setImmediate(done));
    expect(seen).toEqual([]);
    await server.kill('SIGCONT');
    await expect.poll(() => seen.length).toBe(count);
    expect(seen).toEqual(Array.from({ length: count }, (_, index) => 1_000 + index));
  });

  test('a server that never reads is given up before all memory is full of what it should get', async () => {
    const server = await start({ config: 'max_payload: 64MB\nmax_pending: 64MB\n' });
    const nc = await open(server.url);
    const heard = listen(nc);
    await server.kill('SIGSTOP');
    const payload = Buffer.alloc(60 * 1_048_576);
    for (let index = 0; index < 5; index += 1) nc.publish('a', payload);
    await expect.poll(() => kindsOf(heard)).toContain('disconnect');
    expect(heard[0]).toMatchObject({ type: 'error', error: expect.any(WireError) });
    expect(heard[0]).toHaveProperty(
      'error.message',
      expect.stringMatching(/^the NATS server has not read \d{9} bytes$/),
    );
    await server.kill('SIGCONT');
    await expect.poll(() => kindsOf(heard)).toContain('reconnect');
  });

  test('one that a server closes because it reads too slowly is made again', async () => {
    const server = await start({ config: 'max_pending: 1MB\nmax_payload: 256KB\nwrite_deadline: "1s"\n' });
    const proxy = await openTcpProxy(server.port);
    onTestFinished(() => proxy.close());
    const nc = await open(`nats://127.0.0.1:${proxy.port}`);
    const heard = listen(nc);
    const seen = await collect(nc, 'a');
    const flood = await open(server.url);
    proxy.cut({ toServer: false, toClient: true });
    const payload = Buffer.alloc(200_000, 'x');
    const isClosed = async () => {
      const { slow_consumers: count } = (await (await fetch(`${server.monitor}/varz`)).json()) as {
        slow_consumers: number;
      };
      return count > 0;
    };
    // Until `max_pending` and the buffers of the sockets between are full.
    while (!(await isClosed())) {
      for (let count = 0; count < 10; count += 1) flood.publish('a', payload);
      await flood.flush();
    }
    proxy.heal();
    await expect.poll(() => kindsOf(heard)).toContain('reconnect');
    await nc.flush();
    flood.publish('a', 'afterwards');
    await expect.poll(() => seen.at(-1)).toBe('afterwards');
  });

  test('a server in lame duck mode says so, and the next one is found', async () => {
    const server = await start({ config: 'lame_duck_duration: "30s"\nlame_duck_grace_period: "1s"\n' });
    const nc = await open(server.url);
    const heard = listen(nc);
    const seen = await collect(nc, 'a');
    process.kill(server.pid, 'SIGUSR2');
    await expect.poll(() => kindsOf(heard)).toContain('ldm');
    nc.publish('a', 'still served');
    await expect.poll(() => seen).toEqual(['still served']);
    await server.restart();
    await expect.poll(() => kindsOf(heard)).toContain('reconnect');
    nc.publish('a', 'served again');
    await expect.poll(() => seen.at(-1)).toBe('served again');
  });

  test('pings tell that a server is gone without a word', async () => {
    const server = await start();
    const proxy = await openTcpProxy(server.port);
    onTestFinished(() => proxy.close());
    const connect: typeof connectByWire = (given) => connectByWire({ ...given, pingInterval: 50 });
    const nc = await openConnection({ url: `nats://127.0.0.1:${proxy.port}`, name: 'wire', patient: true, connect });
    opened.push(nc);
    const heard = listen(nc);
    proxy.cut({ toServer: true, toClient: true });
    await expect.poll(() => kindsOf(heard)).toContain('staleConnection');
    proxy.heal();
    await expect.poll(() => kindsOf(heard)).toContain('reconnect');
    await nc.flush();
  });
});

describe('what is no NATS', () => {
  const info = `INFO ${JSON.stringify({ server_id: 'X', version: '2.9.10', proto: 1, headers: true, max_payload: 1_000 })}\r\n`;

  /** A server that answers the handshake, and to the first of its clients then says `words`. */
  async function openLiar(hello: string, words: string) {
    const sockets = new Set<Socket>();
    let clients = 0;
    const server = createServer((socket) => {
      sockets.add(socket);
      clients += 1;
      let rest = clients === 1 ? words : '';
      socket.on('error', () => undefined).write(hello);
      socket.on('data', (bytes) => {
        if (!bytes.includes('PING\r\n')) return;
        socket.write(`PONG\r\n${rest}`);
        rest = '';
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    });
    return { url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`, clients: () => clients };
  }

  test('ends the connection with an error that quotes it, and the next one is good', async () => {
    const liar = await openLiar(info, 'MSG nobody 99 2\r\nokay\r\n');
    const heard: Status[] = [];
    const nc = await open(liar.url);
    void (async () => {
      for await (const status of nc.status()) heard.push(status);
    })();
    await expect.poll(() => kindsOf(heard)).toContain('reconnect');
    expect(heard[0]).toMatchObject({ type: 'error', error: expect.any(WireError) });
    expect(heard[0]).toHaveProperty(
      'error.message',
      expect.stringContaining('a message without its end that cannot be read'),
    );
    expect(liar.clients()).toBe(2);
    await nc.flush();
  });

  test('is refused as a server', async () => {
    const liar = await openLiar('SSH-2.0-OpenSSH_9.2p1\r\n', '');
    const opening = openConnection({ url: liar.url, name: 'wire', patient: false, connect: connectByWire });
    await expect(opening).rejects.toThrow('unexpected response from server');
  });

  test('in the handshake is an error at once, not after a time', async () => {
    const liar = await openLiar(`${info}what?\r\n`, '');
    const opening = openConnection({ url: liar.url, name: 'wire', patient: false, connect: connectByWire });
    await expect(opening).rejects.toThrow('a line that cannot be read: "what?\\r\\n"');
  });
});

describe('otherwise', () => {
  test.skipIf(!hasOpenssl)(
    'a server with TLS is dialled by the library, also if only it says that it has TLS',
    async () => {
      const file = await makeAuthority('one');
      const [cert, key] = [file('one.crt'), file('one.key')].map((it) => JSON.stringify(it));
      const server = await start({ config: `tls { cert_file: ${cert}, key_file: ${key} }\n` });
      const nc = await open(server.url.replace('nats:', 'tls:'), { tls: { caFile: file('ca.pem') } });
      const seen = await collect(nc, 'a');
      nc.publish('a', 'encrypted');
      await expect.poll(() => seen).toEqual(['encrypted']);
      await server.restart();
      await expect
        .poll(() =>
          nc
            .flush()
            .then(() => nc.publish('a', 'again'))
            .then(() => seen.at(-1)),
        )
        .toBe('again');
      // Without the authority: what matters is that the handshake was tried.
      const opening = openConnection({ url: server.url, name: 'wire', patient: false, connect: connectByWire });
      await expect(opening).rejects.toThrow('is not trusted');
    },
  );

  test('a WebSocket brings the same frames', async () => {
    const [port = 0] = await freePorts(1);
    await start({ config: `websocket { host: "127.0.0.1", port: ${port}, no_tls: true }\n` });
    const nc = await open(`ws://127.0.0.1:${port}`);
    const seen = await collect(nc, 'a');
    nc.publish('a', 'x'.repeat(500_000));
    nc.publish('a', 'by WebSocket');
    await expect.poll(() => seen.map((it) => it.slice(-12))).toEqual(['x'.repeat(12), 'by WebSocket']);
  });

  test('a library that is not the one we know makes the connection by itself', async () => {
    const server = await start();
    const nc = await connectOverWire({ servers: server.url }, '3.5.0');
    opened.push(nc);
    expect(whyByLibrary(nc)).toBe('its version is 3.5.0, not 3.4.0');
    const seen = await collect(nc, 'a');
    nc.publish('a', 'by the library');
    await expect.poll(() => seen).toEqual(['by the library']);
    expect(whyByLibrary(await open(server.url))).toBeNull();
  });
});

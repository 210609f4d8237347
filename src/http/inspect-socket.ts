/**
 * The WebSockets of XState inspectors: `/inspect/ws` sends the fleet, `/inspect` takes what other XState apps send and
 * hands it on. Both apply the admission rules of requests.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { AppError, errorBody, errorCodes } from '../errors.ts';
import type { Logger } from '../log.ts';
import { checkId } from '../service/parse-input.ts';
import { tryJson } from '../text/json-text.ts';
import { type Access, checkAccess, fleetsFor } from './access.ts';
import { type Admission, checkSource, findCaller, onceRevoked } from './admission.ts';
import { type FleetDirectory, fleetNamed, type ServedFleet } from './fleet-directory.ts';
import { toAppError } from './replies.ts';

const fleetPath = '/inspect/ws';
const relayPath = '/inspect';
const fleetAccess: Access = { role: 'read', workers: 'none', fleets: 'own' };
const relayAccess: Access = { role: 'read', workers: 'all', fleets: 'all' };

type Sockets = {
  readonly fleets: FleetDirectory;
  readonly admission: Admission;
  readonly log: Logger;
};

const socketsMax = 32;
/** Above this much unsent data, a socket gets no more steps until it has drained. */
const bufferedBytesMax = 256 * 1024;
/** Pings find peers that vanished without closing. */
const pingMs = 30_000;

/** The use of a socket, once it is admitted. */
type Admitted = { readonly access: Access; readonly fleet: string | null; readonly serve: (socket: WebSocket) => void };

export function addInspectSocket(app: FastifyInstance, sockets: Sockets): void {
  app.get(fleetPath, { config: { access: fleetAccess, listed: [`GET  ${fleetPath}  (WebSocket)`] } }, async () => {
    throw new AppError('input.bad', `${fleetPath} is a WebSocket: connect to it, for example with wscat`);
  });
  const server = new WebSocketServer({ noServer: true, maxPayload: frameBytesMax, perMessageDeflate: false });
  const relay = createInspectRelay();
  app.server.on('upgrade', async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    try {
      const { access, fleet, serve } = await admit(request, server, relay, sockets);
      server.handleUpgrade(request, socket, head, (opened) => {
        opened.on('error', () => opened.terminate());
        serve(opened);
        const settle = onceRevoked(request.headers, { fleet }, access, sockets.admission, () => opened.terminate());
        opened.on('close', settle);
      });
    } catch (error) {
      refuse(socket, error, sockets.log);
    }
  });
  const ping = setInterval(() => {
    for (const socket of server.clients) socket.ping();
  }, pingMs).unref();
  app.addHook('preClose', async () => {
    clearInterval(ping);
    relay.close();
    for (const socket of server.clients) socket.terminate();
  });
}

/** @throws AppError as any request would */
async function admit(
  request: IncomingMessage,
  { clients }: WebSocketServer,
  relay: InspectRelay,
  { fleets, admission, log }: Sockets,
): Promise<Admitted> {
  checkSource(request.headers, admission);
  const caller = findCaller(request.headers, admission);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname !== fleetPath && pathname !== relayPath)
    throw new AppError(
      'actor.unknown',
      `no WebSocket at ${pathname}; ${fleetPath} sends the fleet, ${relayPath} takes what an XState app sends`,
    );
  const access = pathname === fleetPath ? fleetAccess : relayAccess;
  checkAccess(caller, access, {});
  if (clients.size >= socketsMax)
    throw new AppError('service.busy', `${socketsMax} inspectors are connected, which is the limit; close one first`);
  if (pathname === relayPath) return { access, fleet: null, serve: (socket) => relay.join(socket, caller.name ?? '') };
  const worker = searchParams.get('worker');
  if (worker !== null) checkId('worker', worker);
  const { service, inspection } = fleetNamed(fleetsFor(caller, fleets), searchParams.get('fleet') ?? undefined);
  if (worker !== null) await service.get('worker', worker);
  return { access, fleet: service.fleet, serve: (socket) => sendFleet(socket, inspection, worker, log) };
}

function sendFleet(socket: WebSocket, { feed }: ServedFleet['inspection'], worker: string | null, log: Logger): void {
  const { hidden, leave } = feed.join(
    { send: (frame) => socket.send(frame), isReady: () => socket.bufferedAmount < bufferedBytesMax },
    worker,
  );
  if (hidden > 0) log.info({ hidden }, 'an inspector sees only the most recent actors; select one with ?worker=');
  socket.on('message', () => socket.close(1008, `this address only sends; an XState app sends to ${relayPath}`));
  socket.on('close', leave);
}

function refuse(socket: Duplex, error: unknown, log: Logger): void {
  const ours = toAppError(error as AppError);
  if (ours === null) log.error({ err: error }, 'request failed: a bug');
  const body = ours === null ? '' : JSON.stringify(errorBody(ours));
  const status = ours === null ? 500 : errorCodes[ours.code].status;
  const headers = [
    `HTTP/1.1 ${status} Refused`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...(status === 401 ? ['www-authenticate: Bearer'] : []),
  ];
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`);
}

// Hands on what XState apps send by `createWebSocketInspector` to whoever watches them: the page `/inspect`, or the
// package's own receiver. It looks at no frame beyond what names its actor, stores nothing on disk, and must never
// delay the fold: what all apps may send in a second is bounded.

/** The smallest part that all frames of `@statelyai/inspect` have. */
const frameSchema = z.object({ type: z.string(), _version: z.string(), sessionId: z.string().min(1).max(1_024) });

/** A machine's definition travels in one frame; ours have 60 KiB. */
const frameBytesMax = 256 * 1024;
/** For those who watch later, this many of the actors of a token's apps are kept: those that changed last. */
const actorsMax = 200;
const keptCharsMax = 8 * 1024 * 1024;
/** All apps together may send this much each second: parsing as much takes about 10 ms. */
const bytesPerSecond = 4 * 1024 * 1024;
/** Above this much unsent data a watcher is disconnected; when it comes back it gets the present state. */
const watcherBytesMax = 4 * 1024 * 1024;

/** The frame that introduced an actor, and the last one with its snapshot. */
type Kept = { readonly introduced: string | null; readonly snapshot: string | null };
/** The apps and watchers of one token. `chars`: the length of all frames that are kept. */
type Room = { readonly sockets: Set<WebSocket>; readonly actors: Map<string, Kept>; chars: number };

type InspectRelay = {
  /**
   * Joins an app or a watcher, which nothing tells apart: each gets what the others send, first what is so now.
   * @param caller the name of its token: tokens do not see each other's apps
   */
  join(socket: WebSocket, caller: string): void;
  close(): void;
};

function createInspectRelay(): InspectRelay {
  const rooms = new Map<string, Room>();
  const paused = new Set<WebSocket>();
  let bytesLeft = bytesPerSecond;
  const refill = setInterval(() => {
    bytesLeft = bytesPerSecond;
    for (const socket of paused) socket.resume();
    paused.clear();
  }, 1_000).unref();

  return {
    join(socket, caller) {
      const room = rooms.get(caller) ?? { sockets: new Set(), actors: new Map(), chars: 0 };
      rooms.set(caller, room);
      for (const { introduced, snapshot } of room.actors.values())
        for (const frame of [introduced, snapshot]) if (frame !== null) socket.send(frame);
      room.sockets.add(socket);
      socket.on('message', (data, isBinary) => {
        const text = String(data);
        bytesLeft -= text.length;
        if (bytesLeft < 0) {
          socket.pause();
          paused.add(socket);
        }
        const frame = isBinary ? null : frameSchema.safeParse(tryJson(text));
        if (frame?.success !== true) {
          socket.close(1008, 'not a message of @statelyai/inspect: a JSON object with type, _version and sessionId');
          return;
        }
        keep(room, frame.data, text);
        handOn(room, socket, text);
      });
      socket.on('close', () => {
        room.sockets.delete(socket);
        paused.delete(socket);
      });
    },
    close: () => clearInterval(refill),
  };
}

function keep(room: Room, { type, sessionId }: z.output<typeof frameSchema>, text: string): void {
  const introduced = room.actors.get(sessionId)?.introduced ?? null;
  if (type === '@xstate.actor') put(room, sessionId, { introduced: text, snapshot: null });
  if (type === '@xstate.snapshot') put(room, sessionId, { introduced, snapshot: text });
}

function put(room: Room, sessionId: string, kept: Kept): void {
  forget(room, sessionId);
  room.actors.set(sessionId, kept);
  room.chars += lengthOf(kept);
  for (const oldest of room.actors.keys()) {
    if (room.actors.size <= actorsMax && room.chars <= keptCharsMax) return;
    forget(room, oldest);
  }
}

function forget(room: Room, sessionId: string): void {
  const kept = room.actors.get(sessionId);
  if (kept === undefined) return;
  room.actors.delete(sessionId);
  room.chars -= lengthOf(kept);
}

const lengthOf = ({ introduced, snapshot }: Kept): number => (introduced?.length ?? 0) + (snapshot?.length ?? 0);

function handOn({ sockets }: Room, sender: WebSocket, text: string): void {
  for (const socket of sockets) {
    if (socket === sender) continue;
    if (socket.bufferedAmount > watcherBytesMax) socket.terminate();
    else socket.send(text);
  }
}

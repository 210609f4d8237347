/**
 * The WebSockets of XState inspectors: `/inspect/ws` sends the fleet, `/inspect` takes what other XState apps send and
 * hands it on. Both apply the admission rules of requests.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { isId } from '../../machines/index.ts';
import { AppError, errorBody, errorCodes } from '../errors.ts';
import type { Logger } from '../log.ts';
import { type Access, accessOf, checkAccess, fleetsFor } from './access.ts';
import { type Admission, checkSource, findCaller } from './admission.ts';
import { type FleetDirectory, fleetNamed, type ServedFleet } from './fleet-directory.ts';
import { createInspectRelay, frameBytesMax, type InspectRelay } from './inspect-relay.ts';
import { toAppError } from './replies.ts';
import { onceRevoked } from './revocation.ts';

const fleetPath = '/inspect/ws';
const relayPath = '/inspect';

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
  const access = accessOf('GET', pathname);
  checkAccess(caller, access, {});
  if (clients.size >= socketsMax)
    throw new AppError('service.busy', `${socketsMax} inspectors are connected, which is the limit; close one first`);
  if (pathname === relayPath) return { access, fleet: null, serve: (socket) => relay.join(socket, caller.name ?? '') };
  const worker = searchParams.get('worker');
  if (worker !== null && !isId(worker))
    throw new AppError('input.bad', `'${worker.slice(0, 100)}' is not the id of a worker`);
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

/** `/inspect/ws`: sends the fleet to XState inspectors. Admission is the same as for requests. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { AppError, errorBody, errorCodes } from '../errors.ts';
import type { Logger } from '../log.ts';
import { checkId } from '../service/parse-input.ts';
import { type Access, checkAccess, fleetsFor } from './access.ts';
import { checkSource, findCaller, type HttpAdmission, onceRevoked } from './admission.ts';
import { basePathOf, withoutBasePath } from './base-path.ts';
import { type FleetDirectory, fleetNamed, type ServedFleet } from './fleet-directory.ts';
import { toAppError } from './replies.ts';

const path = '/inspect/ws';
const access: Access = { role: 'read', workers: 'none', fleets: 'own' };

type Sockets = {
  readonly fleets: FleetDirectory;
  readonly admission: HttpAdmission;
  readonly log: Logger;
};

const socketsMax = 32;
/** Above this much unsent data, a socket gets no more steps until it has drained. */
const bufferedBytesMax = 256 * 1024;
/** Pings find peers that vanished without closing. */
const pingMs = 30_000;

/** Clients need not send anything: a socket is closed at its first message. */
const receivedBytesMax = 1_024;

type Admitted = { readonly fleet: ServedFleet; readonly worker: string | null };

export function addInspectSocket(app: FastifyInstance, sockets: Sockets): void {
  app.get(path, { config: { access, listed: [`GET  ${path}  (WebSocket)`] } }, async () => {
    throw new AppError('input.bad', `${path} is a WebSocket: connect to it, for example with wscat`);
  });
  const server = new WebSocketServer({ noServer: true, maxPayload: receivedBytesMax, perMessageDeflate: false });
  app.server.on('upgrade', async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    try {
      const { fleet, worker } = await admit(request, server.clients.size, sockets);
      server.handleUpgrade(request, socket, head, (opened) => {
        opened.on('error', () => opened.terminate());
        sendFleet(opened, fleet.inspection, worker, sockets.log);
        const named = { fleet: fleet.service.fleet };
        const endChecks = onceRevoked(request.headers, named, access, sockets.admission, () => opened.terminate());
        opened.on('close', endChecks);
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
    for (const socket of server.clients) socket.terminate();
  });
}

/** @throws AppError as any request would */
async function admit(request: IncomingMessage, open: number, { fleets, admission }: Sockets): Promise<Admitted> {
  checkSource(request.headers, admission);
  const caller = findCaller(request.headers, admission);
  const { pathname, searchParams } = new URL(
    withoutBasePath(request.url ?? '/', basePathOf(admission.publicUrl)),
    'http://localhost',
  );
  if (pathname !== path)
    throw new AppError('actor.unknown', `no WebSocket at ${pathname}; ${path} sends the fleet to XState inspectors`);
  checkAccess(caller, access, {});
  if (open >= socketsMax)
    throw new AppError('service.busy', `${socketsMax} inspectors are connected, which is the limit; close one first`);
  const worker = searchParams.get('worker');
  if (worker !== null) checkId('worker', worker);
  const fleet = fleetNamed(fleetsFor(caller, fleets), searchParams.get('fleet') ?? undefined);
  if (worker !== null) await fleet.service.get('worker', worker);
  return { fleet, worker };
}

function sendFleet(socket: WebSocket, { feed }: ServedFleet['inspection'], worker: string | null, log: Logger): void {
  const { hidden, leave } = feed.join(
    { send: (frame) => socket.send(frame), isReady: () => socket.bufferedAmount < bufferedBytesMax },
    worker,
  );
  if (hidden > 0) log.info({ hidden }, 'an inspector sees only the most recent actors; select one with ?worker=');
  socket.on('message', () => socket.close(1008, 'this address only sends'));
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

/** `GET /inspect/ws`: the fleet for XState inspectors, over a WebSocket. It applies the admission rules of requests. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { isId } from '../../machines/index.ts';
import { AppError, errorBody, errorCodes } from '../errors.ts';
import type { Logger } from '../log.ts';
import { accessOf, checkAccess, fleetsFor } from './access.ts';
import { type Admission, checkSource, findCaller } from './admission.ts';
import { type FleetDirectory, fleetNamed, type ServedFleet } from './fleet-directory.ts';
import { toAppError } from './replies.ts';
import { onceRevoked } from './revocation.ts';

const inspectSocketPath = '/inspect/ws';
const access = accessOf('GET', inspectSocketPath);

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

export function addInspectSocket(app: FastifyInstance, sockets: Sockets): void {
  // Clients have nothing to send.
  const server = new WebSocketServer({ noServer: true, maxPayload: 1_024, perMessageDeflate: false });
  app.server.on('upgrade', async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    try {
      const wanted = await admit(request, server, sockets);
      server.handleUpgrade(request, socket, head, (opened) => {
        serve(opened, wanted, sockets.log);
        const settle = onceRevoked(request.headers, { fleet: wanted.fleet }, access, sockets.admission, () =>
          opened.terminate(),
        );
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
    for (const socket of server.clients) socket.terminate();
  });
}

type Wanted = Pick<ServedFleet, 'inspection'> & { readonly fleet: string; readonly worker: string | null };

/** @throws AppError as any request would */
async function admit(request: IncomingMessage, { clients }: WebSocketServer, sockets: Sockets): Promise<Wanted> {
  const { fleets, admission } = sockets;
  checkSource(request.headers, admission);
  const caller = findCaller(request.headers, admission);
  checkAccess(caller, access, {});
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname !== inspectSocketPath)
    throw new AppError('actor.unknown', `no WebSocket at ${pathname}; use ${inspectSocketPath}`);
  const worker = searchParams.get('worker');
  if (worker !== null && !isId(worker))
    throw new AppError('input.bad', `'${worker.slice(0, 100)}' is not the id of a worker`);
  const { service, inspection } = fleetNamed(fleetsFor(caller, fleets), searchParams.get('fleet') ?? undefined);
  if (worker !== null) await service.get('worker', worker);
  if (clients.size >= socketsMax)
    throw new AppError('service.busy', `${socketsMax} inspectors are connected, which is the limit; close one first`);
  return { fleet: service.fleet, inspection, worker };
}

function serve(socket: WebSocket, { inspection, worker }: Wanted, log: Logger): void {
  const { hidden, leave } = inspection.feed.join(
    { send: (frame) => socket.send(frame), isReady: () => socket.bufferedAmount < bufferedBytesMax },
    worker,
  );
  if (hidden > 0) log.info({ hidden }, 'an inspector sees only the most recent actors; select one with ?worker=');
  socket.on('error', () => socket.terminate());
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

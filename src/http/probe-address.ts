/**
 * Checks that HTTP can listen on an address, so that a start that cannot succeed fails before it has started anything.
 */
import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { get as getOverTls } from 'node:https';
import { createServer } from 'node:net';
import { json } from 'node:stream/consumers';
import { AppError, errorCodes } from '../errors.ts';

/** Limits the delay of a failing start if the program that uses the port never answers. */
const answerTimeoutMs = 2_000;

/** @throws AppError config.bad if the address is in use, or does not belong to this machine */
export async function probeAddress({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  const probe = createServer();
  try {
    probe.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port, exclusive: true });
    await once(probe, 'listening');
  } catch (cause) {
    throw await cannotListen(host, port, cause as NodeJS.ErrnoException);
  }
  probe.close();
  await once(probe, 'close');
}

export async function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): Promise<AppError> {
  const isTaken = cause.code === 'EADDRINUSE';
  const owner = isTaken && (await isStopgate(host, port)) ? 'another stopgate' : 'another program';
  const why = isTaken ? `${owner} has it` : (cause.code ?? cause.message);
  // Suggest a fixed port, since `init` writes it into the settings of agents.
  const other = isTaken && port < 65_535 ? `${bracketed(host)}:${port + 1}` : '127.0.0.1:4280';
  return new AppError(
    'config.bad',
    `cannot listen on ${bracketed(host)}:${port} for HTTP (${why}); choose another address with --http, e.g. --http ${other}, or --http off`,
    { cause },
  );
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

const wireCodes: ReadonlySet<unknown> = new Set(Object.values(errorCodes).map(({ wire }) => wire));

/** Whether a stopgate answers there: with the body of `/readyz` or one of our error codes, over HTTP or HTTPS. */
async function isStopgate(host: string, port: number): Promise<boolean> {
  const signal = AbortSignal.timeout(answerTimeoutMs);
  // Without an agent no connection outlives the answer. We send nothing secret, so any certificate will do.
  const options = { host, port, path: '/readyz', agent: false, signal, rejectUnauthorized: false };
  return (await answersAsStopgate(() => get(options))) || answersAsStopgate(() => getOverTls(options));
}

async function answersAsStopgate(ask: () => ClientRequest): Promise<boolean> {
  try {
    const [reply] = (await once(ask(), 'response')) as [IncomingMessage];
    const body = (await json(reply)) as { fleets?: unknown; error?: { code?: unknown } } | null;
    return typeof body?.fleets === 'object' || wireCodes.has(body?.error?.code);
  } catch {
    return false; // another protocol, invalid JSON, or no answer in time
  }
}

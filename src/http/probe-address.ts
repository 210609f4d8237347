/** Whether HTTP can listen on an address, so that a start which cannot succeed ends before it has started anything. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { AppError } from '../errors.ts';

/** @throws AppError config.bad: it is taken, or none of this machine */
export async function probeAddress({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  const probe = createServer();
  try {
    probe.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port, exclusive: true });
    await once(probe, 'listening');
  } catch (cause) {
    throw cannotListen(host, port, cause as NodeJS.ErrnoException);
  }
  probe.close();
  await once(probe, 'close');
}

export const cannotListen = (host: string, port: number, cause: NodeJS.ErrnoException): AppError =>
  new AppError(
    'config.bad',
    `cannot listen on ${host}:${port} for HTTP (${cause.code ?? cause.message}); choose another address with --http, e.g. --http 127.0.0.1:0, or --http off`,
    { cause },
  );

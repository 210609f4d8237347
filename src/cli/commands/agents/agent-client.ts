/** The public client, for commands that act as an agent. */
import { type Client, connect } from '../../../client/index.ts';
import { refuseOtherService } from '../../../config/config.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { type Place, resolvePlace } from '../../connection.ts';

/** Finds the service, and returns its address and how a client of it is opened. @throws AppError config.bad */
export async function connectAsAgent(
  where: Place,
  io: Io,
  name: string,
): Promise<{ readonly address: string; readonly open: () => Promise<Client> }> {
  const place = await resolvePlace(where, io, 'agent');
  const { url: nats, credsFile, fleet } = place;
  const creds = credsFile === undefined ? {} : { creds: credsFile };
  return {
    address: `${nats} ${fleet}`,
    async open() {
      refuseOtherService(place);
      return connect({ nats, fleet, cwd: io.cwd, name, ...creds });
    },
  };
}

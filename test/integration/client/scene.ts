/** A NATS server, one replica and one client, for the tests of the client. */
import { type Client, connect } from '../../../src/client/index.ts';
import { makeFolder } from '../../support/deployment.ts';
import type { NatsServer, NatsServerOptions } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

export type Scene = {
  readonly server: NatsServer;
  /** A folder without stopgate.yaml and `.stopgate`, so that nothing but the options counts. */
  readonly cwd: string;
  readonly client: Client;
  /** Another client, closed with the scene. */
  connect(): Promise<Client>;
  close(): Promise<void>;
};

/** @param policies as in stopgate.yaml */
export async function openScene(
  policies: Readonly<Record<string, object>> = {},
  nats?: NatsServerOptions,
): Promise<Scene> {
  const server = await openNats(nats);
  const folder = await makeFolder();
  const replica = await startReplica({ nats: server.url, policies: { policies: { default: {}, ...policies } } });
  const clients: Client[] = [];
  const connectAlso = async () => {
    const client = await connect({ nats: server.url, fleet: 'main', cwd: folder.path });
    clients.push(client);
    return client;
  };
  return {
    server,
    cwd: folder.path,
    client: await connectAlso(),
    connect: connectAlso,
    async close() {
      for (const client of clients) await client.close();
      await replica.close();
      await server.stop();
      await folder.remove();
    },
  };
}

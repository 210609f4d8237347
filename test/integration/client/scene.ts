/** A NATS server, one replica and one client, for the tests of the client. */
import { type Client, connect } from '../../../src/client/index.ts';
import { type NatsServer, startNatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';

export type Scene = {
  readonly server: NatsServer;
  readonly client: Client;
  /** Another client, closed with the scene. */
  connect(): Promise<Client>;
  close(): Promise<void>;
};

/** @param policies as in stopgate.yaml */
export async function openScene(policies: Readonly<Record<string, object>> = {}): Promise<Scene> {
  const server = await startNatsServer();
  const replica = await startReplica({ nats: server.url, policies: { policies: { default: {}, ...policies } } });
  const clients: Client[] = [];
  const connectAlso = async () => {
    // A folder without stopgate.yaml and `.stopgate`, so that nothing but the options counts.
    const client = await connect({ nats: server.url, fleet: 'main', cwd: server.storeDir });
    clients.push(client);
    return client;
  };
  return {
    server,
    client: await connectAlso(),
    connect: connectAlso,
    async close() {
      for (const client of clients) await client.close();
      await replica.close();
      await server.stop();
    },
  };
}

/**
 * docs/operations/regions.md, "Move a fleet to another region": two clusters and a leaf node, and a fleet that moves
 * between them.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, openClient } from '../../support/client.ts';
import { type Folder, makeFolder } from '../../support/deployment.ts';
import { type NatsServer, startNatsServer } from '../../support/nats-server.ts';
import { endService, type Service, serveShipped } from '../../support/service.ts';
import { freePorts } from '../faults/ports.ts';
import { noCluster } from './cluster.ts';

const regions = ['us-east', 'eu-west'] as const;
type Region = (typeof regions)[number];
/** Gateways with leaf nodes need a system account, and another account for all other users. */
const accounts = `
system_account: SYS
no_auth_user: app
accounts {
  SYS { users: [{ user: sys, password: sys }] }
  APP { jetstream: enabled, users: [{ user: app, password: app }] }
}`;
/** JetStream needs routes, and a majority of the nodes of both regions. */
const nodesOfRegion = 2;

describe.skipIf(noCluster !== null)('two regions', () => {
  const servers: NatsServer[] = [];
  const clients: Client[] = [];
  const services: Service[] = [];
  let folder: Folder;
  /** The client URLs of the regions, and of a leaf node of the first. */
  const urls = new Map<Region | 'leaf', string>();

  beforeAll(async () => {
    folder = await makeFolder({
      'stopgate.yaml': 'policies: { default: { checks: [{ plan: { required: true } }] } }\n',
    });
    const gateways = await freePorts(regions.length);
    const [leafPort = 0] = await freePorts(1);
    const remotes = regions.map((name, index) => `{ name: ${name}, url: "nats://127.0.0.1:${gateways[index]}" }`);
    const routes = await freePorts(regions.length * nodesOfRegion);
    const started = regions.flatMap((region, place) => {
      const own = routes.slice(place * nodesOfRegion, (place + 1) * nodesOfRegion);
      return own.map(async (route, index) => {
        const server = await startNatsServer({
          config: `${accounts}
server_name: ${region}-${index}
cluster { name: ${region}, listen: "127.0.0.1:${route}", routes: [${own.map((it) => `"nats://127.0.0.1:${it}"`).join(', ')}] }
gateway { name: ${region}, listen: "127.0.0.1:${index === 0 ? gateways[place] : -1}", gateways: [${remotes.join(', ')}] }
${place === 0 && index === 0 ? `leafnodes { listen: "127.0.0.1:${leafPort}" }` : ''}`,
        });
        if (index === 0) urls.set(region, server.url);
        return server;
      });
    });
    servers.push(...(await Promise.all(started)));
    const leaf = await startNatsServer({
      config: `server_name: leaf\njetstream { domain: leaf }\nleafnodes { remotes: [{ url: "nats://app:app@127.0.0.1:${leafPort}" }] }`,
    });
    servers.push(leaf);
    urls.set('leaf', leaf.url);
  });
  afterAll(async () => {
    for (const client of clients) await client.close();
    for (const service of services) await endService(service);
    for (const server of servers) await server.stop();
    await folder?.remove();
  });

  const clientOf = async (place: Region | 'leaf'): Promise<Client> => {
    const client = await openClient(urls.get(place) as string, 'web');
    clients.push(client);
    return client;
  };

  test('agents of every region and of a leaf node reach the replicas of their fleet', async () => {
    const service = await serveShipped(
      ['serve', '--nats', urls.get('eu-west') as string, '--fleet', 'web', '--replica', 'eu', '--http', 'off'],
      folder.path,
    );
    services.push(service);
    const there = await clientOf('eu-west');
    const { cluster, config: log } = await there.manager.streams.info('STOPGATE_web');
    // The default of three copies in a cluster is more than its two nodes.
    expect({ place: cluster?.name, copies: log.num_replicas }).toEqual({ place: 'eu-west', copies: 1 });
    expect(service.stderr()).toContain(
      'this cluster has fewer than three nodes for the log, so only one node stores it',
    );
    for (const place of ['eu-west', 'us-east', 'leaf'] as const) {
      const agent = await clientOf(place);
      await agent.publish(`worker.w-${place}.plan.updated`, { steps: [{ title: 'Write tests', status: 'pending' }] });
      // Servers exchange the subscriptions of a replica, which takes a moment.
      const decide = () => agent.ask(`decide.w-${place}`, { attempt: 'a1' }).then(({ body }) => body, String);
      const expected = expect.objectContaining({ decision: 'block', cause: 'incomplete', replica: 'eu' });
      await expect.poll(decide, { interval: 250 }).toEqual(expected);
    }
  });

  test('a fleet moves to another region without losing its state', async () => {
    const there = await clientOf('us-east');
    services.push(
      await serveShipped(
        ['serve', '--nats', urls.get('us-east') as string, '--fleet', 'web', '--replica', 'us', '--http', 'off'],
        folder.path,
      ),
    );
    const { manager } = there;
    // The fourth snapshot moves the oldest to the store of older ones.
    const hasOlder = async () => {
      await there.publish('worker.w-leaf.heartbeat.sent');
      await there.ask('snapshot.web', {}, 20_000);
      return manager.streams.info('OBJ_STOPGATE-PAST_web').then(() => true);
    };
    await expect.poll(hasOlder, { interval: 20 }).toBe(true);
    const names = ['STOPGATE_web', 'STOPGATE-DEAD_web', 'OBJ_STOPGATE-SNAPSHOTS_web', 'OBJ_STOPGATE-PAST_web'];
    for (const name of names) {
      const { config } = await manager.streams.info(name);
      await manager.streams.update(name, { ...config, placement: { cluster: 'us-east', tags: [] } });
      const cluster = async () => (await manager.streams.info(name)).cluster?.name;
      await expect.poll(cluster, { interval: 250 }).toBe('us-east');
    }
    await endService(services.shift() as Service);
    const decide = () =>
      there.ask('decide.w-leaf', { attempt: 'a2' }, 2_000).then(
        ({ body }) => [body.decision, body.replica, body.retry?.count],
        () => 'no answer',
      );
    await expect.poll(decide, { interval: 250 }).toEqual(['block', 'us', 2]);
  });
});

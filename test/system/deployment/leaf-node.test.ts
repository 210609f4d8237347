/**
 * docs/operations/regions.md, "Keep a fleet's log on a leaf node": two services, one of them on a leaf node with its
 * own JetStream domain.
 */
import { expect, onTestFinished, test } from 'vitest';
import { type Client, openClient } from '../../support/client.ts';
import { makeFolder } from '../../support/deployment.ts';
import { startNatsServer } from '../../support/nats-server.ts';
import { endService, serveShipped } from '../../support/service.ts';
import { freePorts } from '../faults/ports.ts';

/** Starts a hub and a leaf node, each with its own log and service. */
async function openLeaf(fleets: { readonly hub: string; readonly leaf: string }) {
  const [port = 0] = await freePorts(1);
  const hub = await startNatsServer({
    config: `server_name: hub\njetstream { domain: hub }\nleafnodes { listen: "127.0.0.1:${port}" }`,
  });
  onTestFinished(() => hub.stop());
  const leafConfig = `server_name: leaf\njetstream { domain: leaf }\nleafnodes { remotes: [{ url: "nats://127.0.0.1:${port}" }] }`;
  const leaf = await startNatsServer({ config: leafConfig });
  onTestFinished(() => leaf.stop());
  const folder = await makeFolder({
    'stopgate.yaml': 'policies: { default: { checks: [{ plan: { required: true } }] } }\n',
  });
  onTestFinished(() => folder.remove());
  const serve = async (url: string, fleet: string, replica: string) => {
    const service = await serveShipped(
      ['serve', '--nats', url, '--fleet', fleet, '--replica', replica, '--http', 'off'],
      folder.path,
    );
    onTestFinished(() => endService(service));
  };
  await serve(hub.url, fleets.hub, 'at-hub');
  await serve(leaf.url, fleets.leaf, 'at-leaf');
  const clientOf = async (url: string, fleet: string): Promise<Client> => {
    const client = await openClient(url, fleet);
    onTestFinished(() => client.close());
    return client;
  };
  return { hub, leaf, clientOf };
}

const decide = (client: Client, worker: string, attempt: string) => async () =>
  client.ask(`decide.${worker}`, { attempt }, 2_000).then(
    ({ body }) => [body.decision, body.replica],
    () => 'no answer',
  );
const soon = { interval: 100 };

test('a fleet of a leaf node has its log there, answers both sides, and continues while the hub is down', async () => {
  const { hub, leaf, clientOf } = await openLeaf({ hub: 'main', leaf: 'edge' });
  const [atHub, atLeaf] = [await clientOf(hub.url, 'edge'), await clientOf(leaf.url, 'edge')];
  await expect.poll(decide(atLeaf, 'w1', 'a1'), soon).toEqual(['block', 'at-leaf']);
  await expect.poll(decide(atHub, 'w2', 'a1'), soon).toEqual(['block', 'at-leaf']);
  await expect.poll(decide(await clientOf(leaf.url, 'main'), 'w3', 'a1'), soon).toEqual(['block', 'at-hub']);
  // Entries that an agent publishes are stored on the node of its fleet.
  expect(await atHub.publish('worker.w2.plan.updated', { steps: [] })).toMatchObject({ duplicate: false });
  expect(await atLeaf.stored('STOPGATE_edge', 'stopgate.edge.worker.w2.plan.updated')).toHaveLength(1);
  const logs = async ({ manager }: Client) => {
    const names: string[] = [];
    for await (const name of manager.streams.names()) names.push(name);
    return names.filter((name) => /^STOPGATE_/.test(name));
  };
  expect([await logs(atHub), await logs(atLeaf)]).toEqual([['STOPGATE_main'], ['STOPGATE_edge']]);

  await hub.kill();
  await expect.poll(decide(atLeaf, 'w1', 'a2'), soon).toEqual(['block', 'at-leaf']);
  await hub.restart();
  await expect.poll(decide(atHub, 'w2', 'a2'), soon).toEqual(['block', 'at-leaf']);
});

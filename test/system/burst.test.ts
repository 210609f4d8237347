/**
 * Of 25,000 requests at once, the service serves as many as its limit allows. It refuses the others before anything is
 * stored, and each is answered.
 */
import { createInbox } from '@nats-io/nats-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, openClient } from '../support/client.ts';
import { makeFolder } from '../support/deployment.ts';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { endService, type Service, serveShipped } from '../support/service.ts';

const total = 25_000;
let server: NatsServer;
let service: Service;
let client: Client;
let folder: Awaited<ReturnType<typeof makeFolder>>;

beforeAll(async () => {
  server = await startNatsServer();
  folder = await makeFolder({});
  service = await serveShipped(['serve', '--nats', server.url, '--http', 'off', '--log-level', 'error'], folder.path);
  client = await openClient(server.url);
});
afterAll(async () => {
  await client.close();
  await endService(service);
  await server.stop();
  await folder.remove();
});

test('10,000 are served, and the rest is refused with a hint and not stored', async () => {
  const inbox = createInbox();
  const counts = { served: 0, refused: 0, hinted: 0 };
  let lastRefused = 0;
  let lastServed = 0;
  let answered = 0;
  client.nc.subscribe(`${inbox}.*`, {
    callback: (_error, message) => {
      answered += 1;
      const isServed = message.headers?.get('Nats-Service-Error-Code') !== '503';
      counts[isServed ? 'served' : 'refused'] += 1;
      if (message.headers?.get('Retry-After') === '1') counts.hinted += 1;
      if (isServed) lastServed = answered;
      else lastRefused = answered;
    },
  });
  for (let index = 0; index < total; index += 1)
    client.nc.publish(`stopgate.main.decide.w${index % 1_000}`, '{"output":"done"}', { reply: `${inbox}.${index}` });
  await expect.poll(() => answered, { timeout: 120_000 }).toBe(total);
  expect(counts.served).toBeGreaterThanOrEqual(10_000);
  expect(counts.refused).toBeGreaterThan(0);
  expect(counts.refused).toBe(total - counts.served);
  expect(counts.hinted).toBe(counts.refused);
  // Refused requests do not wait for served ones.
  expect(lastRefused).toBeLessThan(lastServed);
  const stored = await client.manager.streams.info('STOPGATE_main', {
    subjects_filter: 'stopgate.main.worker.*.stop.attempted',
  });
  const attempts = Object.values(stored.state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
  expect(attempts).toBe(counts.served);
});

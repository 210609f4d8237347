/** A connection to a real server that goes and comes back. */
import { afterEach, expect, test, vi } from 'vitest';
import { openConnection } from '../../../src/nats/connection.ts';
import { startNatsServer } from '../../support/nats-server.ts';

afterEach(() => vi.useRealTimers());

test('a machine whose clock was set back meanwhile reconnects all the same', async () => {
  const server = await startNatsServer();
  const nc = await openConnection({ url: server.url, name: 'test', patient: true });
  const hourMs = 3_600_000;
  await server.kill();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - hourMs });
  await server.restart();
  await expect.poll(() => nc.flush().then(() => true)).toBe(true);
  await nc.close();
  await server.stop();
});

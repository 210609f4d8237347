/** A start waits for a slow NATS server: recovering a large store takes many seconds. */
import { afterEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

/** Longer than the timeout of requests after startup. */
const standstillMs = 3_000;

let server: NatsServer;
let replica: Replica | null = null;
afterEach(async () => {
  await replica?.close();
  await server.stop();
});

test('a replica starts although the server is suspended at first', async () => {
  server = await openNats({});
  replica = await startReplica({
    nats: server.url,
    onConnected() {
      void server.kill('SIGSTOP');
      setTimeout(() => void server.kill('SIGCONT'), standstillMs);
    },
  });
  expect(replica.service.status()).toMatchObject({ ready: true });
});

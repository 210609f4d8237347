/** A NATS server that is slow at a start is waited for: one that recovers a large store answers after many seconds. */
import { afterEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

/** Longer than a request of the running service may take. */
const standstillMs = 3_000;

let server: NatsServer;
let replica: Replica | null = null;
afterEach(async () => {
  await replica?.close();
  await server.stop();
});

test('a server that stands still while a replica starts', async () => {
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

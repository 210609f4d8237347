/** A start that folds a long log reports its progress, also over HTTP, and serves nothing before it is done. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../support/client.ts';
import { closedPort } from '../../support/port.ts';
import { startReplica } from '../../support/replica.ts';
import { endService, startService } from '../../support/service.ts';
import { openNats } from '../../support/shared-server.ts';

const entries = 12_000;

test('/readyz reports the progress of the fold, and requests are refused', async () => {
  const server = await openNats();
  const client = await openClient(server.url);
  const folder = await mkdtemp(join(tmpdir(), 'stopgate-start-'));
  onTestFinished(async () => {
    await client.close();
    await rm(folder, { recursive: true, force: true });
    await server.stop();
  });
  // Creates the log. Later entries are in no snapshot.
  await (await startReplica({ nats: server.url })).close();
  for (let number = 0; number < entries; number += 1)
    client.nc.publish(`stopgate.main.worker.w${number % 100}.heartbeat.sent`, '{}');
  const stored = async () => (await client.manager.streams.info('STOPGATE_main')).state.last_seq;
  await expect.poll(stored).toBeGreaterThanOrEqual(entries);

  const address = await closedPort();
  const http = `http://${address}`;
  const starting = startService(['serve', '--nats', server.url, '--http', address], folder);
  let isStarting = true;
  void starting.finally(() => {
    isStarting = false;
  });
  const said: string[] = [];
  const refused = new Set<number>();
  while (isStarting) {
    const ready = await fetch(`${http}/readyz`).catch(() => null);
    if (ready?.status === 503) said.push(((await ready.json()) as { error: { message: string } }).error.message);
    if (said.length === 0) await new Promise((done) => setImmediate(done));
    else if (refused.size === 0)
      refused.add((await fetch(`${http}/api/main/decide/w1`, { method: 'POST', headers: json, body: '{}' })).status);
  }
  expect(said.some((message) => /folding the log: \d+ of 1[23]\d{3} entries are folded/.test(message))).toBe(true);
  expect([...refused]).toEqual([503]);
  const service = await starting;
  const ready = (await (await fetch(`${http}/readyz`)).json()) as { fleets: { main: { foldedSeq: number } } };
  expect(ready.fleets.main.foldedSeq).toBeGreaterThanOrEqual(entries);
  await endService(service);
});

const json = { 'content-type': 'application/json' };

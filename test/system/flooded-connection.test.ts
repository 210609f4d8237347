/**
 * Agents that send more requests than a service can read: the NATS server closes its connection for requests
 * (`max_pending`). The service reconnects, logs that, and no answer is lost.
 */
import { connect } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../support/client.ts';
import { makeFolder } from '../support/deployment.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { endService, serveShipped } from '../support/service.ts';

/** More than `max_pending` and the buffers of the sockets between. */
const floodBytes = 64 * 1_048_576;

test('reconnects quickly, answers waiting requests, and logs it', async () => {
  const nats = await startNatsServer({ config: 'max_pending: 1MB\nmax_payload: 256KB\n' });
  onTestFinished(() => nats.stop());
  const folder = await makeFolder({
    'stopgate.yaml':
      'policies: { default: {}, held: { persistence: { idle: 10m, hold: 60s, queue: build } } }\nassign: [{ worker: waiting, policy: held }]\n',
  });
  onTestFinished(() => folder.remove());
  const service = await serveShipped(['serve', '--nats', nats.url, '--http', '127.0.0.1:0'], folder.path);
  onTestFinished(() => endService(service));
  const client = await openClient(nats.url);
  onTestFinished(() => client.close());
  const waiting = client.ask('decide.waiting', { attempt: 'a1' }, 100_000);
  await expect.poll(async () => (await client.ask('get.worker.waiting')).body.state).toBe('validating');

  // The service reads nothing, like during garbage collection, while a few agents continue.
  process.kill(service.pid, 'SIGSTOP');
  const payload = JSON.stringify({ output: 'x'.repeat(200_000) });
  const flood = await connect({ servers: nats.url });
  onTestFinished(() => flood.close());
  for (let sent = 0; sent < floodBytes; sent += payload.length) {
    flood.publish('stopgate.main.decide.flood', payload, { reply: '_INBOX.nobody' });
    if (sent % (20 * payload.length) === 0) await flood.flush();
  }
  await flood.flush();
  process.kill(service.pid, 'SIGCONT');

  const decide = () => client.ask('decide.w1', { attempt: 'a1' }).catch(() => null);
  await expect.poll(decide).toMatchObject({ body: { decision: 'allow' } });
  await client.publish('task.T-1.task.created', { queue: 'build' });
  expect(await waiting).toMatchObject({ code: '', body: { attempt: 'a1', cause: 'pending-tasks' } });
  const lines = () => service.stderr();
  await expect.poll(lines).toContain('the connection to NATS broke; reconnecting');
  await expect.poll(lines).toContain('connected to NATS again');
  const metrics = await (await fetch(new URL('/metrics', String(service.ready.http)))).text();
  expect(metrics).toMatch(/^stopgate_connection_breaks_total\{connection="requests"\} [1-9]/m);
});

/** The client on an embedded server, whose permissions depend on the role. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, type ConnectOptions, connect } from '../../../src/client/index.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { createLogger } from '../../../src/log.ts';
import { openConnection } from '../../../src/nats/connection.ts';
import { type EmbeddedServer, openEmbeddedServer } from '../../../src/nats/embedded/embedded-server.ts';
import { startReplica } from '../../support/replica.ts';

let home: string;
let server: EmbeddedServer;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'stopgate-client-'));
  ends.push(() => rm(home, { recursive: true }));
  const storeDir = join(home, '.stopgate');
  server = await openEmbeddedServer({
    env: readEnvironment(),
    storeDir,
    port: 0,
    fleet: 'main',
    log: createLogger('silent'),
  });
  ends.push(() => server.close());
  const replica = await startReplica({
    nats: server.url,
    creds: server.credentials('service'),
    policies: { policies: { default: { checks: [{ remote: 'scan' }] } } },
  });
  ends.push(() => replica.close());
  const service = { nats: server.url, http: null, fleet: 'main', pid: process.pid };
  await writeFile(join(storeDir, 'service.json'), JSON.stringify(service));
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

async function open(options: ConnectOptions = { cwd: home }): Promise<Client> {
  const client = await connect(options);
  ends.push(() => client.close());
  return client;
}
const failing = () => ({ complete: false, reason: 'not scanned' });

test('in the folder of the service, a client needs no options to decide, serve and register', async () => {
  const client = await open();
  const service = await openConnection({
    url: server.url,
    credsFile: server.credentials('service'),
    name: 'spy',
    patient: false,
  });
  ends.push(() => service.close());
  const requests: string[] = [];
  service.subscribe('stopgate.main.decide.>', { callback: (_error, { subject }) => void requests.push(subject) });
  await service.flush();
  const served = await client.serveCheck('scan', failing);
  expect(await client.decide('w1')).toMatchObject({ decision: 'block', reason: 'not scanned' });
  expect(requests).toEqual([]); // over the fast path, whose inbox an agent may hear
  await served.close();
  await client.publish('worker', 'w2', 'task.claimed', { task: 'T-1' });
  await client.registerStopHook({ taskId: 'T-1' }, () => ({ action: 'continue', reason: 'not yet' }));
  expect((await client.decide('w2')).reason).toBe('not yet');
});

test('credentials for checks do not go to a server that only the folder names', async () => {
  const file = join(home, 'mine.json');
  await writeFile(file, '{ "user": "me", "pass": "secret" }');
  await expect(connect({ cwd: home, checkCreds: file })).rejects.toThrow('it does not get your credentials');
});

test('a client in another folder acts as an agent and may not serve', async () => {
  const client = await open({ nats: server.url, fleet: 'main', cwd: tmpdir() });
  expect((await client.decide('w3')).decision).toBe('allow');
  await expect(client.serveCheck('scan', failing)).rejects.toMatchObject({
    code: 'input.unauthorized',
    message: expect.stringContaining('credentials of a check server, check.json in .stopgate/credentials'),
  });
});

test('what the NATS server does not permit is an error of the call', async () => {
  const client = await open({ nats: server.url, fleet: 'main', cwd: tmpdir(), creds: server.credentials('check') });
  const denied = { name: 'StopgateError', code: 'input.unauthorized' };
  await expect(client.getWorker('w1')).rejects.toMatchObject(denied);
  await expect(client.publish('worker', 'w1', 'heartbeat.sent', {})).rejects.toMatchObject(denied);
  await expect(client.decide('w1')).rejects.toMatchObject(denied);
  await expect(client.onDecision(null, () => {})).rejects.toMatchObject(denied);
});

test('a client in another folder serves with check credentials', async () => {
  const place = { nats: server.url, fleet: 'main', cwd: tmpdir() };
  const file = server.credentials('check');
  for (const options of [
    { ...place, checkCreds: file },
    { ...place, creds: file },
    { cwd: home, role: 'check' as const },
  ]) {
    const client = await open(options);
    const served = await client.serveCheck('scan', failing);
    expect((await (await open()).decide('w4')).reason).toBe('not scanned');
    await served.close();
  }
});

test('an operator may decide and retire; an agent may not retire', async () => {
  const operator = await open({ cwd: home, role: 'operator' });
  expect((await operator.decide('w5', { attempt: 'a1' })).attempt).toBe('a1');
  await expect((await open()).publish('own.worker', 'w5', 'worker.retired', { by: 'me' })).rejects.toMatchObject({
    code: 'input.unauthorized',
  });
  await operator.publish('own.worker', 'w5', 'worker.retired', { by: 'me' });
  expect(await operator.decide('w5')).toMatchObject({ decision: 'allow', cause: 'retired' });
});

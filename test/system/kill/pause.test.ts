/**
 * A replica is suspended (SIGSTOP) while others decide. When it continues, it folds the entries stored in the meantime
 * before anything else (protocol.md §9), so it runs no check of a decided attempt again.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { endService, type Service, serveShipped } from '../../support/service.ts';
import { openNats } from '../../support/shared-server.ts';

const attempts = 12;
const fillers = 3_000;
const config = `
policies:
  default:
    checks: [{ command: noted }]
commands:
  noted: { run: [sh, -c, 'echo $STOPGATE_ATTEMPT >> runs.txt'], cwd: '.' }
`;

let server: NatsServer;
let client: Client;
let folder: string;
const replicas = new Map<string, Service>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stopgate-pause-'));
  await writeFile(join(folder, 'stopgate.yaml'), config);
  server = await openNats();
  client = await openClient(server.url);
  for (const name of ['ra', 'rb']) {
    const args = ['serve', '--nats', server.url, '--http', 'off', '--replica', name, '--log-level', 'info'];
    replicas.set(name, await serveShipped(args, folder));
  }
});
afterAll(async () => {
  for (const replica of replicas.values()) await replica.kill('SIGKILL');
  await client.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

test('a resumed replica runs no checks for attempts that were decided in the meantime', async () => {
  const paused = replicas.get('ra') as Service;
  process.kill(paused.pid, 'SIGSTOP');
  // They are published, not requested, so about half of them belong to the suspended replica.
  for (let number = 0; number < attempts; number += 1)
    await client.publish(`worker.w${number}.stop.attempted`, { attempt: `a${number}` });
  // An attempt and its decision arrive in different socket reads.
  const filler = JSON.stringify({ tool: 'Bash', call: 'x'.repeat(2_000) });
  for (let number = 0; number < fillers; number += 1) client.nc.publish('stopgate.main.worker.busy.tool.used', filler);
  await client.nc.flush();
  const decided = async () => (await client.stored('STOPGATE_main', 'stopgate.main.decision.*')).length;
  await expect.poll(decided, { interval: 250 }).toBe(attempts);

  process.kill(paused.pid, 'SIGCONT');
  await paused.printed('at the head of the log again');
  await endService(paused);
  const runs = (await readFile(join(folder, 'runs.txt'), 'utf8')).trim().split('\n').sort();
  expect(runs).toEqual(Array.from({ length: attempts }, (_, number) => `a${number}`).sort());
});

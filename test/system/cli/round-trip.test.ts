/**
 * An export can be imported byte for byte, and its replay decides and refuses like the service
 * (protocol.md §10).
 */
import { jetstream } from '@nats-io/jetstream';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readEntry } from '../../../machines/index.ts';
import { readVariable } from '../../../src/config/environment.ts';
import { openLogRange } from '../../../src/nats/log/log-range.ts';
import { type Client, openClient } from '../../support/client.ts';
import { runCommand } from '../../support/command.ts';
import { type Folder, linesOf, makeFolder } from '../../support/deployment.ts';
import { hostilePayload, hostilePayloads } from '../../support/hostile-payloads.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let servers: readonly NatsServer[] = [];
let clients: readonly Client[] = [];
let folder: Folder;
beforeEach(async () => {
  servers = [await openNats(), await openNats({})];
  clients = await Promise.all(servers.map(({ url }) => openClient(url)));
  folder = await makeFolder();
});
afterEach(async () => {
  for (const client of clients) await client.close();
  for (const server of servers) await server.stop();
  await folder.remove();
});

const run = (argv: readonly string[], server?: NatsServer) =>
  runCommand([...argv, ...(server === undefined ? [] : ['--nats', server.url])], { cwd: folder.path });
const types = ['stop.attempted', 'tool.used', 'plan.updated', 'heartbeat.sent'];
const withoutTime = ({ at: _at, ...line }: Record<string, unknown>) => line;
const byReplica = ({ replica: _replica, tookMs: _tookMs, ...decision }: Record<string, unknown>) => decision;

async function payloadsOf({ nc }: Client): Promise<string[]> {
  const payloads: string[] = [];
  for await (const batch of (await openLogRange(nc, 'STOPGATE_main')).batches)
    payloads.push(...batch.map(({ data }) => Buffer.from(data).toString('base64')));
  return payloads;
}

test('an export of hostile payloads is imported unchanged, and its replay decides and refuses like the service', async () => {
  const [server, other] = servers as [NatsServer, NatsServer];
  const [client, otherClient] = clients as [Client, Client];
  const seed = Number(readVariable('STOPGATE_TEST_SEED') ?? 1) | 0;
  const payloads = [...Object.values(hostilePayloads), ...fc.sample(hostilePayload, { numRuns: 150, seed })];
  const replica = await startReplica({ nats: server.url });
  await client.publish('worker.w0.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  const isRefused = (subject: string, payload: Uint8Array) => {
    const entry = readEntry(subject, new TextDecoder().decode(payload), payload.length);
    return entry !== null && 'code' in entry;
  };
  const refused: number[] = [];
  for (const [index, payload] of payloads.entries())
    for (const type of types.slice(0, index < 40 ? 4 : 1)) {
      const subject = `stopgate.main.worker.w${index % 5}.${type}`;
      const { seq } = await jetstream(client.nc).publish(subject, payload);
      if (isRefused(subject, payload)) refused.push(seq);
    }
  expect(refused.length).toBeGreaterThan(40);
  const deadLetters = async () => (await client.stored('STOPGATE-DEAD_main', '>')).map(({ seq }) => seq);
  await expect.poll(deadLetters).toEqual(refused);
  await replica.close();
  const live = await client.stored('STOPGATE_main', 'stopgate.main.decision.>');
  expect(live.length).toBeGreaterThan(40);

  const { stdout: exported } = await run(['export'], server);
  await folder.write('log.jsonl', exported);
  const replayed = await run(['replay', 'log.jsonl', '--json']);
  expect(linesOf(replayed.stdout).map(byReplica)).toEqual(live.map(byReplica));
  const seqs = linesOf(exported).map(({ seq }) => seq);
  const bad = [...replayed.stderr.matchAll(/^line (\d+): /gm)].map(([, line]) => seqs[Number(line) - 1]);
  expect(bad).toEqual(refused);

  expect(await run(['import', 'log.jsonl'], other)).toMatchObject({ code: 0, stderr: '' });
  expect(await payloadsOf(otherClient)).toEqual(await payloadsOf(client));
  const { stdout: again } = await run(['export'], other);
  expect(linesOf(again).map(withoutTime)).toEqual(linesOf(exported).map(withoutTime));
});

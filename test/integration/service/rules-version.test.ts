/** A newer version of the rules is put in force once every replica knows it, and not before (protocol.md §15). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { bothVersions } from '../../support/second-rules.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
const open = new Set<Replica>();

beforeEach(async () => {
  server = await openNats();
  client = await openClient(server.url);
});
afterEach(async () => {
  for (const replica of open) await replica.close();
  open.clear();
  await client.close();
  await server.stop();
});

async function start(name: string, options: object = {}): Promise<Replica> {
  const replica = await startReplica({ nats: server.url, name, ...options });
  open.add(replica);
  return replica;
}
async function stop(replica: Replica): Promise<void> {
  open.delete(replica);
  await replica.close();
}
const versions = async () =>
  (await client.stored('STOPGATE_main', 'stopgate.main.own.fleet.main.rules.set')).map(({ version }) => version);
/** Under version 2 an exhausted budget changes nothing. */
async function causeOf(worker: string): Promise<unknown> {
  await client.publish(`worker.${worker}.budget.exhausted`, {});
  return (await client.ask(`decide.${worker}`)).body.cause;
}

test('a replica of the last release delays a new version; when it is gone, one entry puts it in force', async () => {
  const old = await start('old');
  await start('new-1', { rules: bothVersions });
  await start('new-2', { rules: bothVersions });
  expect(await causeOf('w1')).toBe('bypassed');
  expect(await versions()).toEqual([]);
  await stop(old);
  await expect.poll(versions).toEqual([2]);
  await expect.poll(() => causeOf('w2')).toBe('no-policy');
  await start('new-3', { rules: bothVersions });
  expect(await versions()).toEqual([2]);
});

test('a version above rulesMax is not put in force', async () => {
  await start('r1', { rules: bothVersions, rulesMax: 1 });
  await start('r2', { rules: bothVersions });
  expect(await causeOf('w1')).toBe('bypassed');
  const joined = await client.stored('STOPGATE_main', 'stopgate.main.own.fleet.main.replica.joined');
  expect(joined.map(({ rules }) => rules)).toEqual([
    [1, 1],
    [1, 2],
  ]);
  expect(await versions()).toEqual([]);
});

test('a replica that does not know the version serves nothing, and says which release it needs', async () => {
  const needed = /needs version 2 of the rules, and this release knows version 1/;
  const running = await start('old');
  await client.publish('own.fleet.main.rules.set', { version: 2 });
  await expect.poll(() => running.service.status()).toMatchObject({ ready: false, code: 'rules.unknown' });
  const { code, body } = await client.ask('decide.w1');
  expect([code, body.error.code]).toEqual(['503', 'RULES_UNKNOWN']);
  expect(body.error.message).toMatch(needed);
  await expect(startReplica({ nats: server.url, name: 'old-2' })).rejects.toThrow(needed);
  // Neither of them stores anything from here on.
  const last = await client.stored('STOPGATE_main', 'stopgate.main.own.>');
  expect(last.at(-1)).toEqual({ version: 2 });
});

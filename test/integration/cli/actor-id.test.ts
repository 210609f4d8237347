/** Commands for people take the beginning of a worker's or task's id. Those that act for programs take exact ids only. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';
import { runOnce, type TerminalOptions } from '../../support/terminal.ts';

let server: NatsServer;
let client: Client;
let replica: Replica;

const first = '0194a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
const second = '0194a1b2-ffff-7e5f-8a9b-0c1d2e3f4a5b';

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
  replica = await startReplica({ nats: server.url, policies: { policies: { default: { promises: true } } } });
  await client.publish(`worker.${first}.prompt.submitted`, { text: 'Fix the login' });
  await client.ask(`decide.${first}`, { output: 'Which key? <promise>ESCALATE</promise>' });
  await client.ask(`decide.${second}`);
  for (let index = 0; index < 6; index += 1) await client.publish(`worker.many${index}.worker.registered`);
  await client.publish('task.T-1001.task.created', { title: 'Fix the login' });
});
afterAll(async () => {
  await replica.close();
  await client.close();
  await server.stop();
});

const run = (argv: readonly string[], options: TerminalOptions = {}) =>
  runOnce([...argv, '--nats', server.url], options);

test.each([
  [['worker', '0194a1b2-c'], `worker ${first}`, /^ {2}prompt +Fix the login$/m],
  [['explain', '0194a1b2-c'], `worker ${first}`, /^0194a1b2-c3d4.* tried to stop/],
  [['tail', '--no-follow', '--worker', '0194a1b2-f'], `worker ${second}`, /stop\.attempted/],
  [['export', '--worker', '0194a1b2-f'], `worker ${second}`, /stop\.attempted/],
  [['task', 'T-10'], 'task T-1001', /Fix the login/],
  [['ack', '0194a1b2-c', '--by', 'ann', '--yes'], `worker ${first}`, /^0194a1b2-c3d4.*: acknowledged by ann/],
  [['audit', '--worker', '0194a1b2-c'], `worker ${first}`, /acknowledged/],
])('%j finds the only id that begins so, and names it on stderr', async (argv, who, says) => {
  const { code, stdout, stderr } = await run(argv);
  expect(stderr).toBe(`stopgate: ${who}\n`);
  expect(stdout).toMatch(says);
  expect(code).toBe(0);
});

test.each([
  ['0194a1b2', `worker 0194a1b2 is unknown, and several ids begin with that: ${first}, ${second}`],
  ['many', 'worker many is unknown, and several ids begin with that: many0, many1, many2, many3, many4 and more'],
  ['019', 'worker 019 is unknown in fleet main; "npx stopgate workers" lists the known ones'],
])('of several ids, or with less than four characters, none is taken: %s', async (id, says) => {
  expect(await run(['worker', id])).toEqual({ code: 1, stdout: '', stderr: `stopgate: ${says}\n` });
});

test.each([
  [['worker', 'T-1001'], 'worker T-1001 is unknown, but there is a task T-1001'],
  [['task', 'many0'], 'task many0 is unknown, but there is a worker many0'],
  [['explain', 'T-1001'], 'T-1001 is a task; "npx stopgate task T-1001" shows it, and its worker'],
])('%j: an id of the other kind is named', async (argv, says) => {
  expect(await run(argv)).toEqual({ code: 1, stdout: '', stderr: `stopgate: ${says}\n` });
});

test('a known id is never taken for the beginning of another', async () => {
  await client.publish(`worker.${first}-2.worker.registered`);
  const { stdout, stderr } = await run(['worker', first]);
  expect(stdout).toContain(first);
  expect(stderr).toBe('');
});

test('probe takes exact ids only; a terminal learns which it may mean', async () => {
  const piped = await run(['probe', 'many', '--json']);
  expect(JSON.parse(piped.stdout)).toMatchObject({ worker: 'many' });
  expect(piped.stderr).toBe('');
  const { stderr } = await run(['probe', 'many'], { isTTY: true });
  expect(stderr).toContain(
    'stopgate: no worker is called many yet; did you mean many0, many1, many2, many3, many4 and more?',
  );
});

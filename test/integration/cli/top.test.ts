/**
 * `stopgate top` shows the fleet live on a terminal. Workers that wait for a person come first, and keys answer them.
 */
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';
import { openTerminal, runOnce, type Terminal } from '../../support/terminal.ts';

let server: NatsServer;
let client: Client;
let replica: Replica;

const policies = { policies: { default: { promises: true, ask: '10m' } } };

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
  replica = await startReplica({ nats: server.url, policies });
});
afterAll(async () => {
  await replica.close();
  await client.close();
  await server.stop();
});

const keyboard = () => Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
async function openTop(options: { rows?: number; columns?: number } = {}) {
  const stdin = keyboard();
  const terminal = await openTerminal({
    isTTY: true,
    columns: 110,
    rows: 30,
    env: { NO_COLOR: '1' },
    stdin,
    ...options,
  });
  const ended = terminal.run('top', '--nats', server.url, '--by', 'ann', '--every', '200ms');
  return { terminal, ended, press: (keys: string) => void stdin.write(keys) };
}
/** Returns the current content of the screen. */
const screen = (terminal: Terminal) =>
  (terminal.stdout().split('\u001b[H').at(-1) ?? '').replaceAll('\u001b[K', '').replace('\u001b[J', '').split('\r\n');
const shows = (terminal: Terminal, text: string | RegExp) =>
  expect.poll(() => screen(terminal).join('\n')).toMatch(text);
const stored = (tail: string) => client.stored('STOPGATE_main', `stopgate.main.own.worker.${tail}`);

test('waiting workers come first; keys give a prompt, a stop and an answer', async () => {
  await client.publish('worker.busy.tool.used', { tool: 'Bash' });
  for (const worker of ['ana', 'bob'])
    await client.ask(`decide.${worker}`, { output: `Which key, ${worker}? <promise>ESCALATE</promise>` });
  const asked = { kind: 'permission', request: 'p1', tool: 'Bash', detail: 'make deploy' };
  await client.publish('worker.carl.input.requested', asked);
  const { terminal, ended, press } = await openTop();
  await shows(terminal, /^stopgate · fleet main · 4 workers · 3 wait for a person\n/);
  await shows(terminal, /▸ {2}ana .*\n {3}bob .*\n {3}carl .*\n {3}busy .*\n[\s\S]*Which key, ana\?/);

  press('r');
  await shows(terminal, /prompt for ana/);
  press('Use staging.\r');
  await shows(terminal, /ana: resolved, resume/);
  expect(await stored('ana.escalation.resolved')).toEqual([{ by: 'ann', verdict: 'resume', prompt: 'Use staging.' }]);

  press('g');
  await shows(terminal, /▸ {2}bob/);
  press('a');
  await shows(terminal, /bob: acknowledged/);
  press('s');
  await shows(terminal, /stop bob\?/);
  press('n');
  await shows(terminal, /nothing was changed/);
  press('s');
  await shows(terminal, /stop bob\?/);
  press('y');
  await shows(terminal, /bob: resolved, stop/);
  expect(await stored('bob.escalation.resolved')).toEqual([{ by: 'ann', verdict: 'stop' }]);

  press('g');
  await shows(terminal, /▸ {2}carl[\s\S]*asks: permission Bash make deploy/);
  press('p');
  await shows(terminal, /carl: a: allow, d: deny/);
  press('d');
  await shows(terminal, /carl: answered, deny/);
  expect(await stored('carl.input.answered')).toEqual([{ by: 'ann', request: 'p1', verdict: 'deny' }]);
  press('a');
  await shows(terminal, /carl is not escalated/);

  press('q');
  expect(await ended).toBe(0);
  expect(terminal.stdout().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});

test('fits a small terminal, and Ctrl-C ends it', async () => {
  for (let index = 0; index < 30; index += 1) await client.publish(`worker.x${index}.heartbeat.sent`);
  const { terminal, ended, press } = await openTop({ rows: 10, columns: 40 });
  await shows(terminal, /WORKER +STATE +LAST DECISION$/m);
  press('G');
  await shows(terminal, /▸/);
  expect(screen(terminal).length).toBeLessThanOrEqual(10);
  expect(Math.max(...screen(terminal).map((line) => line.length))).toBeLessThanOrEqual(40);
  press('?');
  await shows(terminal, /Any key goes back|move; g and G/);
  press('\u0003');
  expect(await ended).toBe(0);
});

test('eighty columns are enough for all states and decisions', async () => {
  await client.ask('decide.a-worker-with-a-name', { output: 'Which key? <promise>ESCALATE</promise>' });
  const { terminal, ended, press } = await openTop({ rows: 24, columns: 80 });
  await shows(terminal, /a-worker-with-a-name +escalated +.*allow escalated/);
  await shows(terminal, /escalated .*: Which key\?/);
  await shows(terminal, /The guard "promise" decided: ESCALATE\./);
  expect(
    screen(terminal)
      .join('\n')
      .match(/Which key/g),
  ).toHaveLength(1);
  press('q');
  expect(await ended).toBe(0);
});

test('without a terminal, it names the command to use instead', async () => {
  const { code, stderr } = await runOnce(['top', '--nats', server.url]);
  expect([code, stderr]).toEqual([
    2,
    'stopgate: top needs a terminal; in scripts, use "npx stopgate workers --watch"\n',
  ]);
});

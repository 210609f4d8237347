/** Attacks by somebody who may only publish as an agent, or post to the HTTP port. */
import { createConnection } from 'node:net';
import { connect, headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { needsBuild } from '../../support/built.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config: 'policies: { default: {} }\n' });
});
afterAll(() => at.close());

test('an inbox longer than a NATS control line gets no answer, and breaks no connection', async () => {
  const nc = await connect({ servers: at.server.url });
  onTestFinished(() => nc.close());
  const h = headers();
  h.set('Stopgate-Reply', `_INBOX.${'a'.repeat(6_000)}`);
  nc.publish('stopgate.main.worker.evil.stop.attempted', JSON.stringify({ attempt: 'p1' }), { headers: h });
  await nc.flush();
  for (let count = 0; count < 5; count += 1) {
    expect((await at.client.ask(`decide.other${count}`, { attempt: 'a1' })).body).toMatchObject({ decision: 'allow' });
  }
  expect((await at.client.ask('get.worker.evil')).body).toMatchObject({ lastDecision: { attempt: 'p1' } });
});

// Root cause: each byte that is not UTF-8 becomes a character of three bytes, so a line of 2 KB exceeded the server's
// limit.
test.each(['stopgate.main.decide.w1', '$SRV.PING.stopgate'])(
  'a reply subject at %s that grows when it is read gets no answer, and cuts nobody off',
  async (subject) => {
    const [server] = at.server.url.replace('nats://', '').split(':') as [string, string];
    const socket = createConnection({ host: server, port: Number(new URL(at.server.url).port) });
    onTestFinished(() => void socket.destroy());
    const reply = Buffer.alloc(2_000, 0xff);
    socket.write(
      Buffer.concat([Buffer.from(`CONNECT {}\r\nPUB ${subject} `), reply, Buffer.from(' 0\r\n\r\nPING\r\n')]),
    );
    let heard = '';
    for await (const bytes of socket) {
      heard += String(bytes);
      if (heard.includes('PONG')) break;
    }
    expect((await at.client.ask('decide.other')).body).toMatchObject({ decision: 'allow' });
    expect(at.log().map(({ msg }) => msg)).not.toContain('the connection to NATS broke; reconnecting');
  },
);

// Root cause: the library blocked for half a second per message, and threw for invalid headers.
test('huge and invalid headers cost only their bytes', async () => {
  const nc = await connect({ servers: at.server.url });
  onTestFinished(() => nc.close());
  const many = Array.from({ length: 100_000 }, (_, count) => `A${count}:`).join('\r\n');
  const block = (lines: string, end: string) => ({ encode: () => Buffer.from(`NATS/1.0\r\n${lines}${end}`) }) as never;
  const asked = { headers: block(many, '\r\n\r\n'), timeout: 10_000 };
  expect((await nc.request('stopgate.main.decide.wordy', '', asked)).json()).toMatchObject({ decision: 'allow' });
  // The last entry that was folded: every view names it.
  nc.publish('stopgate.main.worker.wordy.tool.used', '{"tool":"Bash"}', { headers: block('a b: c', '') });
  await nc.flush();
  expect((await at.client.ask('get.worker.wordy')).body).toMatchObject({ state: 'working' });
});

test('an actor larger than a message: lists work, and its view is shortened and names the fields', async () => {
  for (let step = 0; step < 200; step += 1) {
    await at.client.publish('worker.big.step.updated', { step: `s${step}`, title: '\u{1F600}'.repeat(2_000) });
  }
  const listed = await at.client.ask('list.workers', {});
  expect((listed.body as unknown as { items: { worker: string }[] }).items.map(({ worker }) => worker)).toContain(
    'big',
  );
  const alone = await at.client.ask('get.worker.big');
  expect(alone).toMatchObject({ code: '', body: { worker: 'big', plan: { length: 200 }, cut: ['plan'] } });
});

test.each([
  ['JSON', '/hooks/claude', `{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}`, 'deeper than 1000 levels'],
  ['YAML', '/api/main/what-if', JSON.stringify({ policy: '['.repeat(8_000) }), 'nested more than 32 levels deep'],
])('deep %s is refused before it is parsed', async (_what, path, body, says) => {
  // A what-if runs in a separate process.
  if (path.endsWith('/what-if')) needsBuild('src/inspector/history/main.js');
  for (let count = 0; count < 2; count += 1) {
    const reply = await fetch(`${at.http}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(await reply.text()).toContain(says);
    expect(reply.status).toBe(400);
  }
});

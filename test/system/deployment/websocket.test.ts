/** docs/operations/regions.md, "Connect through WebSockets": service, runner and agents behind a firewall for HTTP. */
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../../src/client/index.ts';
import { hasOpenssl, makeAuthority } from '../../support/authority.ts';
import { makeFolder } from '../../support/deployment.ts';
import { startNatsServer } from '../../support/nats-server.ts';
import { endService, serveShipped } from '../../support/service.ts';
import { runShipped } from '../../support/shipped.ts';
import { freePorts } from '../faults/ports.ts';

const rules = 'policies: { default: { checks: [{ plan: { required: true } }] } }\n';

test('service, commands and clients connect through a WebSocket, also after an outage of the server', async () => {
  const [port = 0] = await freePorts(1);
  const nats = await startNatsServer({ config: `websocket { listen: "127.0.0.1:${port}", no_tls: true }` });
  onTestFinished(() => nats.stop());
  const folder = await makeFolder({ 'stopgate.yaml': rules });
  onTestFinished(() => folder.remove());
  const url = `ws://127.0.0.1:${port}`;
  const service = await serveShipped(['serve', '--nats', url, '--http', 'off'], folder.path);
  onTestFinished(() => endService(service));
  expect(await runShipped(['decide', 'w1', '--nats', url], { cwd: folder.path })).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('No plan yet'),
  });

  const client = await connect({ nats: url, cwd: folder.path });
  onTestFinished(() => client.close());
  await nats.restart();
  const decide = async () => (await client.worker('w-1').decide()).decision;
  await expect.poll(() => decide().catch(String)).toBe('block');
});

test.skipIf(!hasOpenssl)(
  'a WebSocket over TLS uses the certificate authority and the user of the credentials file',
  async () => {
    const file = await makeAuthority('server');
    const [port = 0] = await freePorts(1);
    const nats = await startNatsServer({
      config: `authorization { user: a, password: b }
websocket { listen: "127.0.0.1:${port}", tls { cert_file: ${JSON.stringify(file('server.crt'))}, key_file: ${JSON.stringify(file('server.key'))} } }`,
    });
    onTestFinished(() => nats.stop());
    const folder = await makeFolder({
      'stopgate.yaml': rules,
      'user.json': JSON.stringify({ user: 'a', pass: 'b', ca: file('ca.pem') }),
    });
    onTestFinished(() => folder.remove());
    const url = `wss://127.0.0.1:${port}`;
    const service = await serveShipped(['serve', '--nats', url, '--creds', 'user.json', '--http', 'off'], folder.path);
    onTestFinished(() => endService(service));
    const run = (...args: string[]) => runShipped(['decide', 'w1', ...args], { cwd: folder.path });
    expect(await run('--nats', url, '--creds', 'user.json')).toMatchObject({ code: 1 });
    const [untrusted, plain, mixed] = await Promise.all([
      run('--nats', url.replace('//', '//a:b@')),
      run('--nats', url.replace('wss:', 'ws:').replace('//', '//a:b@')),
      run('--nats', `${url},${nats.url}`),
    ]);
    expect(untrusted).toMatchObject({ code: 3, stderr: expect.stringMatching(/certificate.*NODE_EXTRA_CA_CERTS/) });
    expect(plain).toMatchObject({ code: 3, stderr: expect.stringContaining('no NATS server at ws:') });
    expect(mixed).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be combined with other kinds') });
  },
);

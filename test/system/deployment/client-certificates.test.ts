/** docs/security/tls.md, "Encrypt NATS": a NATS server that requires client certificates, which determine the user. */
import { copyFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { hasOpenssl, makeAuthority } from '../../support/authority.ts';
import { makeFolder } from '../../support/deployment.ts';
import { startNatsServer } from '../../support/nats-server.ts';
import { endService, serveShipped } from '../../support/service.ts';
import { runShipped } from '../../support/shipped.ts';

test.skipIf(!hasOpenssl)('service, commands and a runner connect with client certificates', async () => {
  const file = await makeAuthority('server', 'service', 'agent', 'renewed');
  const text = (name: string) => JSON.stringify(file(name));
  const nats = await startNatsServer({
    config: `tls { cert_file: ${text('server.crt')}, key_file: ${text('server.key')}, ca_file: ${text('ca.pem')}, verify_and_map: true }
authorization { users: [
  { user: "CN=service" }
  { user: "CN=agent", permissions: { publish: ["stopgate.main.worker.w1.>", "stopgate.main.decide.w1"], subscribe: "_INBOX.>" } }
] }`,
  });
  onTestFinished(() => nats.stop());
  const identity = (name: string) => JSON.stringify({ cert: `${name}.crt`, key: `${name}.key`, ca: 'ca.pem' });
  const folder = await makeFolder({
    'stopgate.yaml':
      'creds: service.json\npolicies: { default: { runner: box, checks: [{ command: tests, timeout: 10s, onError: block }] } }\n',
    'service.json': identity('service'),
    'agent.json': identity('agent'),
    'half.json': '{ "cert": "agent.crt" }',
    'other.json': '{ "cert": "agent.crt", "key": "service.key" }',
    'trusts.json': '{ "ca": "ca.pem" }',
    'box/stopgate.yaml': 'creds: ../service.json\ncommands: { tests: { run: [sh, -c, exit 1], cwd: . } }\n',
  });
  onTestFinished(() => folder.remove());
  for (const name of ['service.crt', 'service.key', 'agent.crt', 'agent.key', 'ca.pem'])
    await copyFile(file(name), `${folder.path}/${name}`);
  const service = await serveShipped(['serve', '--nats', nats.url, '--http', 'off'], folder.path);
  onTestFinished(() => endService(service));
  const runner = await serveShipped(['runner', '--name', 'box', '--nats', nats.url], `${folder.path}/box`);
  onTestFinished(() => endService(runner));

  const decide = (worker: string, creds: string) =>
    runShipped(['decide', worker, '--nats', nats.url, '--creds', creds], { cwd: folder.path });
  const [own, foreign, half, other, without] = await Promise.all(
    [
      ['w1', 'agent.json'],
      ['w2', 'agent.json'],
      ['w1', 'half.json'],
      ['w1', 'other.json'],
      ['w1', 'trusts.json'],
    ].map(([worker = '', creds = '']) => decide(worker, creds)),
  );
  expect(own).toMatchObject({ code: 1, stdout: expect.stringContaining('Command tests failed (exit 1)') });
  expect(foreign).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('these credentials are for another role or another fleet'),
  });
  expect(half).toMatchObject({ code: 2, stderr: expect.stringContaining('each goes with the other') });
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('not a certificate and its key') });
  expect(without).toMatchObject({ code: 3, stderr: expect.stringContaining('requires a client certificate') });

  // After a restart of the server, the running service reconnects with the current files.
  await nats.restart();
  await expect.poll(async () => (await decide('w1', 'agent.json')).code).toBe(1);
});

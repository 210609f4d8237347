/** HTTP and NATS over TLS with the shipped program and its own certificate authority. Skipped without openssl. */
import { readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { hasOpenssl, makeAuthority } from '../support/authority.ts';
import { runCommand } from '../support/command.ts';
import { makeFolder } from '../support/deployment.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { serveShipped } from '../support/service.ts';
import { runShipped } from '../support/shipped.ts';

/** Returns the name in the certificate, and the status of a request. */
const look = (url: string, ca: string) =>
  new Promise<{ name: unknown; status: number | undefined }>((resolve, reject) => {
    const sent = request(`${url}/healthz`, { ca: readFileSync(ca), agent: false }, (reply) => {
      const { subject } = (reply.socket as TLSSocket).getPeerCertificate();
      resolve({ name: subject.CN, status: reply.statusCode });
      reply.resume();
    });
    sent.on('error', reject).end();
  });

test.skipIf(!hasOpenssl)('HTTP and NATS work over TLS with a private certificate authority', async () => {
  const file = await makeAuthority('one', 'two');
  const nats = await startNatsServer({
    config: `tls { cert_file: ${JSON.stringify(file('one.crt'))}, key_file: ${JSON.stringify(file('one.key'))} }\n`,
  });
  onTestFinished(() => nats.stop());
  const folder = await makeFolder({
    'stopgate.yaml':
      'policies: { default: { checks: [{ plan: { required: true } }] } }\ntls: { cert: tls.crt, key: tls.key }\n',
  });
  onTestFinished(() => folder.remove());
  const use = async (name: string) => {
    for (const kind of ['crt', 'key']) await copyFile(file(`${name}.${kind}`), join(folder.path, `tls.${kind}`));
  };
  await use('one');
  const env = { NODE_EXTRA_CA_CERTS: file('ca.pem') };
  const url = nats.url.replace('nats:', 'tls:');
  const service = await serveShipped(['serve', '--nats', url, '--http', '127.0.0.1:0'], folder.path, env);
  onTestFinished(async () => void (await service.kill('SIGTERM')));
  const { http } = service.ready;
  expect(http).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(await look(http ?? '', file('ca.pem'))).toEqual({ name: 'one', status: 200 });

  const run = (args: readonly string[], trust: Record<string, string>, stdin = '') =>
    runShipped(args, { cwd: folder.path, env: trust, stdin });
  const stop = JSON.stringify({ hook_event_name: 'Stop', session_id: 'w1' });
  const [asked, plain, distrusting, hooked, untrusted, unencrypted, second] = await Promise.all([
    run(['decide', 'w1', '--nats', url], env),
    // The server requires TLS, whatever the URL says.
    run(['decide', 'w2', '--nats', nats.url], env),
    run(['decide', 'w3', '--nats', url], {}),
    run(['hook', 'claude', '--http', http ?? ''], env, stop),
    run(['doctor', '--http', http ?? ''], {}),
    run(['doctor', '--http', (http ?? '').replace('https', 'http')], env),
    run(['dev', '--store', 'another', '--http', new URL(http ?? '').host], {}),
  ]);
  expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining('(another stopgate has it)') });
  expect(asked).toMatchObject({ code: 1, stdout: expect.stringContaining('No plan yet') });
  expect(plain).toMatchObject({ code: 1, stdout: expect.stringContaining('No plan yet') });
  expect(distrusting).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(/certificate.*NODE_EXTRA_CA_CERTS/),
  });
  expect(hooked).toMatchObject({ code: 0, stdout: expect.stringContaining('No plan yet') });
  // Node warns about an IP address as a server name.
  expect(hooked.stderr).not.toContain('DEP0123');
  expect(untrusted.stdout).toMatch(/the certificate of .* is not trusted .* → set NODE_EXTRA_CA_CERTS/);
  expect(unencrypted.stdout).toMatch(/if it speaks HTTPS, pass --http https:/);

  // With `tls:` in the file, an address without a scheme means HTTPS.
  const init = (trust: Record<string, string>) =>
    run(['init', 'claude', '--yes', '--http', new URL(http ?? '').host], { HOME: folder.path, ...trust });
  expect(await init(env)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('→') });
  expect(readFileSync(join(folder.path, '.claude', 'settings.json'), 'utf8')).toContain(`${http}/hooks/claude`);
  expect(await init({})).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/✗ the certificate of https:.* is not trusted .*NODE_EXTRA_CA_CERTS .*tls\.crt/),
  });

  await use('two');
  await expect.poll(() => look(http ?? '', file('ca.pem'))).toEqual({ name: 'two', status: 200 });
  expect(await service.kill('SIGTERM')).toBe(0);
});

test.each([
  ['one file without the other', ['--tls-cert', 'a.crt'], /^stopgate: --tls-cert and --tls-key go together/],
  [
    'a file that is not there',
    ['--tls-cert', 'a.crt', '--tls-key', 'none'],
    /cannot read '.*none' for TLS: there is no such file/,
  ],
  ['an empty file', ['--tls-cert', 'empty', '--tls-key', 'empty'], /cannot read '.*empty' for TLS: it is empty/],
  [
    'files that are no certificate',
    ['--tls-cert', 'a.crt', '--tls-key', 'a.crt'],
    /are not a certificate and its key in PEM/,
  ],
])('a start with %s is refused', async (_what, args, words) => {
  const folder = await makeFolder({ 'a.crt': 'none\n', empty: '' });
  onTestFinished(() => folder.remove());
  const ended = await runCommand(['serve', '--nats', 'nats://127.0.0.1:1', ...args], { cwd: folder.path });
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(words) });
});

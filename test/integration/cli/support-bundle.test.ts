/** `stopgate support-bundle` collects diagnostics, but no secrets, wherever they were configured. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy, makeFolder } from '../../support/deployment.ts';

/** A different secret per place, so that a failure shows which one leaked. */
const secrets = {
  token: 'planted-token-1',
  webhookSecret: 'planted-webhook-secret-2',
  webhookUrl: 'planted-in-the-url-3',
  commandEnv: 'planted-in-env-4',
  commandArgument: 'planted-argument-5',
  comment: 'planted-comment-6',
  prompt: 'planted-prompt-7',
  agentOutput: 'planted-output-8',
  label: 'planted-label-9',
  natsPassword: 'planted-nats-password-10',
  envName: 'PLANTED_NAME_11',
  otelHeader: 'planted-otel-header-12',
  badId: 'planted.bad.id-13',
};

const config = `
# ${secrets.comment}
policies:
  default: { keepAlives: 2, checks: [{ command: lint }, { plan: {} }] }
  strict: { retries: 3, checks: [{ rules: ['${secrets.prompt}'] }] }
assign:
  - { policy: strict, labels: { team: '${secrets.label}' } }
commands:
  lint:
    run: ['node', '--token=${secrets.commandArgument}']
    env: { ${secrets.envName}: '${secrets.commandEnv}' }
escalation:
  webhook: { url: 'https://hooks.example/${secrets.webhookUrl}', secretEnv: HOOK_SECRET }
`;
const env = {
  STOPGATE_TOKEN: secrets.token,
  HOOK_SECRET: secrets.webhookSecret,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secrets.otelHeader}`,
};

let at: Deployment | null = null;
afterEach(async () => {
  await at?.close();
  at = null;
});

const bundle = (folder: string, args: readonly string[]) =>
  runCommand(['support-bundle', '--out', 'bundle.json', ...args], { cwd: folder, env });

test('has versions, options, readiness, metrics and streams, but no secrets', async () => {
  at = await deploy({ config, env });
  const { folder, http, client, server } = at;
  await client.publish('worker.w1.worker.registered', { labels: { team: secrets.label } });
  await client.ask('decide.w1', { output: secrets.agentOutput });
  await client.ask(`decide.${secrets.badId}`); // appears in the last error of an endpoint
  const nats = server.url.replace('//', `//user:${secrets.natsPassword}@`);
  const { code, stdout } = await bundle(folder.path, ['--http', http, '--nats', nats]);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining('bundle.json; read it before you send it'),
  });

  const text = await readFile(join(folder.path, 'bundle.json'), 'utf8');
  for (const [place, secret] of Object.entries(secrets)) expect(text.includes(secret), place).toBe(false);
  expect(JSON.parse(text)).toMatchObject({
    versions: { stopgate: expect.any(String), node: process.version },
    options: { fleet: 'main', token: 'set', creds: 'not set', nats: expect.stringContaining('***@127.0.0.1') },
    variables: expect.arrayContaining(['OTEL_EXPORTER_OTLP_HEADERS', 'STOPGATE_TOKEN']),
    file: {
      policies: { policies: { default: { keepAlives: 2 }, strict: { retries: 3 } } },
      commands: { lint: { run: '2 hidden', env: '1 hidden' } },
    },
    readiness: { status: 200, body: { ok: true } },
    metrics: { body: expect.stringContaining('stopgate_decisions_total{fleet="main"') },
    nats: {
      server: { version: expect.any(String) },
      streams: expect.arrayContaining([
        expect.objectContaining({ config: expect.objectContaining({ name: 'STOPGATE_main' }) }),
      ]),
      replicas: [{ endpoints: expect.arrayContaining([expect.objectContaining({ name: 'decide' })]) }],
    },
  });
  expect((await stat(join(folder.path, 'bundle.json'))).mode & 0o077).toBe(0);
});

test('is also written if nothing answers, and says so; an existing file is not overwritten', async () => {
  const folder = await makeFolder();
  const nowhere = ['--http', '127.0.0.1:1', '--nats', 'nats://127.0.0.1:1'];
  const first = await bundle(folder.path, nowhere);
  expect(first.code).toBe(0);
  expect(first.stderr).toMatch(
    /^stopgate: missing: readiness, metrics or replicas from http:\/\/127\.0\.0\.1:1: .*\(--http sets the address\)\nstopgate: missing: streams or replicas from nats:\/\/127\.0\.0\.1:1: no NATS server at .*\n$/,
  );
  const written = JSON.parse(await readFile(join(folder.path, 'bundle.json'), 'utf8'));
  expect(written).toMatchObject({
    readiness: { unknown: expect.any(String) },
    nats: { unknown: expect.stringContaining('no NATS server at') },
  });
  const again = await bundle(folder.path, nowhere);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot write') });
  const astray = await runCommand(['support-bundle', '--out', 'no/such/file.json', ...nowhere], { cwd: folder.path });
  const why = `there is no folder '${join(folder.path, 'no/such')}'`;
  expect(astray).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
  await folder.remove();
});

test.each([
  ['without a token', {}, 'needs a token; set STOPGATE_TOKEN'],
  ['with a wrong one', { STOPGATE_TOKEN: 'wrong' }, 'refuses this token; check STOPGATE_TOKEN'],
])('%s it says what the file does not contain', async (_, given, why) => {
  at = await deploy({ config, env });
  const { folder, http, server } = at;
  const args = ['support-bundle', '--out', 'bundle.json', '--http', http, '--nats', server.url];
  const { code, stderr } = await runCommand(args, { cwd: folder.path, env: given });
  const missing = `readiness, metrics or replicas from ${http}: ${why}`;
  expect({ code, stderr }).toEqual({ code: 0, stderr: `stopgate: missing: ${missing}\n` });
  const written = JSON.parse(await readFile(join(folder.path, 'bundle.json'), 'utf8'));
  expect(written).toMatchObject({ missing: [missing] });
});

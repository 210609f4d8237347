/** Escalations in the shipped service: a signed webhook notifies a person, who decides on the command line. */
import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { TaskView, WorkerView } from '../../../machines/index.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { type Deployment, type DeploymentOptions, deploy, makeFolder } from '../../support/deployment.ts';
import { openReceiver, type Received, type Receiver } from '../../support/receiver.ts';
import { endService, startService } from '../../support/service.ts';
import { runOnce } from '../../support/terminal.ts';

/** A busy machine may need a while. */
const eventually = <T>(read: () => T) => expect.poll(read);

const secret = 'a secret of the test';
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const policies =
  'policies: { default: { promises: true }, strict: { checks: [{ rules: [ok] }], stuckAfter: 2, retries: null } }';
const configFor = (url: string, remind = 'null') =>
  `${policies}\nescalation: { remind: ${remind}, webhook: { url: "${url}", secretEnv: HOOK_SECRET } }\n`;

async function deployWith(receiver: Receiver, remind?: string, options: DeploymentOptions = {}): Promise<Deployment> {
  const at = await deploy({ config: configFor(receiver.url, remind), env: { HOOK_SECRET: secret }, ...options });
  open.push(at);
  return at;
}
async function receive(): Promise<Receiver> {
  const receiver = await openReceiver();
  open.push(receiver);
  return receiver;
}
const giveUp = ({ client }: Deployment, worker: string, attempt = 'a1') =>
  client.ask(`decide.${worker}`, { attempt, output: '<promise>BLOCKED</promise>' });
const notices = ({ client }: Deployment, worker: string) =>
  client.stored('STOPGATE_main', `stopgate.main.own.worker.${worker}.escalation.notified`);
const isSigned = ({ headers, text }: Received, by: string) =>
  headers['stopgate-signature'] ===
  `sha256=${createHmac('sha256', by).update(`${headers['stopgate-timestamp']}.${text}`).digest('hex')}`;
async function startSecond({ server, folder }: Deployment): Promise<void> {
  const line = ['serve', '--nats', server.url, '--http', 'off'];
  const second = await startService(line, folder.path, { HOOK_SECRET: secret });
  open.push({ close: () => endService(second) });
}

test('a webhook is signed, repeated with the same delivery id until it is accepted, and counted', async () => {
  const receiver = await receive();
  receiver.answer((response, count) => void response.writeHead(count < 3 ? 500 : 200).end());
  const config = `policies:
  default: { promises: true }
  look: { checks: [{ command: look, onError: block }] }
commands: { look: { run: [sh, -c, 'echo "seen: <$HOOK_SECRET> <$OTHER>"; exit 1'], cwd: ., inherit: [OTHER] } }
escalation:
  remind: null
  webhook: { url: "${receiver.url}", secretEnv: HOOK_SECRET, links: { url: "https://stop.example/gate" } }\n`;
  const at = await deployWith(receiver, 'null', { config, env: { HOOK_SECRET: secret, OTHER: 'theirs' } });
  await at.client.publish('worker.w1.worker.registered', { agent: 'claude', cwd: '/home/ada/shop' });
  await giveUp(at, 'w1');
  await eventually(() => notices(at, 'w1')).toHaveLength(1);
  expect(receiver.received).toHaveLength(3);
  const [{ delivery } = { delivery: '' }] = await notices(at, 'w1');
  for (const received of receiver.received) {
    expect(received.headers['stopgate-delivery']).toBe(delivery);
    expect(received.body).toMatchObject({
      v: 1,
      kind: 'escalation',
      fleet: 'main',
      entity: 'worker',
      id: 'w1',
      agent: 'claude',
      cwd: '/home/ada/shop',
      link: 'https://stop.example/gate/?fleet=main&worker=w1',
      delivery,
    });
    expect(isSigned(received, secret)).toBe(true);
  }
  const metrics = await (await fetch(`${at.http}/metrics`)).text();
  expect(metrics).toContain('stopgate_webhooks_total{outcome="retried"} 2');
  expect(metrics).toContain('stopgate_webhooks_total{outcome="delivered"} 1');
  expect(at.service.stderr()).not.toContain(secret);
  expect(at.service.stderr()).not.toContain(receiver.url);

  // A receiver with another secret refuses.
  receiver.answer((response) => {
    response.writeHead(isSigned(receiver.received.at(-1) as Received, 'another') ? 200 : 401).end();
  });
  await giveUp(at, 'w2');
  await eventually(() => at.log().find(({ msg }) => msg === 'could not notify anybody of an escalation')).toMatchObject(
    {
      level: 'error',
      why: 'the receiver answered 401',
      again: 'at the next start',
    },
  );
  expect(await notices(at, 'w2')).toEqual([]);
  expect(receiver.received.filter(({ body }) => body.id === 'w2')).toHaveLength(1);

  // Commands of checks do not see the secret.
  await at.client.publish('worker.w3.worker.registered', { policy: 'look' });
  const { body } = await at.client.ask('decide.w3', { attempt: 'a1' });
  expect(JSON.stringify(body.feedback)).toContain('seen: <> <theirs>');
});

test('a service whose secret is not set does not start', async () => {
  const folder = await makeFolder({ 'stopgate.yaml': configFor('http://127.0.0.1:9/') });
  onTestFinished(() => folder.remove());
  const { code, stderr } = await runCommand(['serve', '--nats', 'nats://127.0.0.1:1'], { cwd: folder.path, env: {} });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('variable "HOOK_SECRET" is not set'),
  });
});

test('a changed webhook applies without a restart', async () => {
  const [first, other] = [await receive(), await receive()];
  const at = await deployWith(first);
  await giveUp(at, 'w1');
  await eventually(() => notices(at, 'w1')).toHaveLength(1);
  const changed = configFor(other.url, '200ms');
  await at.folder.write('stopgate.yaml', changed.replace('HOOK_SECRET', 'NO_SUCH'));
  await eventually(() => at.service.stderr()).toContain('variable \\"NO_SUCH\\" is not set');
  expect(other.received).toEqual([]);
  await at.folder.write('stopgate.yaml', changed);
  await eventually(() => other.received[0]?.body).toMatchObject({ id: 'w1', kind: 'reminder', reminder: 1 });
  expect(first.received).toHaveLength(1);
});

test('on the command line: who is escalated, and the effects of an operator’s actions', async () => {
  const folder = await makeFolder({ 'stopgate.yaml': policies });
  onTestFinished(() => folder.remove());
  const dev = startCommand(['dev', '--port', '0', '--http', 'off'], { cwd: folder.path });
  onTestFinished(async () => void (await dev.kill('SIGINT')));
  await dev.printed(/"ready":true.*\n/);
  // In this process: starting two dozen others would take longer than the rest of the test.
  const cli = (...args: string[]) => runOnce(args, { cwd: folder.path });
  const publishAll = (lines: [subject: string, data: object][]) => {
    const stdin = lines.map(([subject, data]) => JSON.stringify({ subject, data })).join('\n');
    return runOnce(['publish', '-'], { cwd: folder.path, stdin });
  };
  const view = async (entity: 'worker' | 'task', id: string) =>
    JSON.parse((await cli(entity, id, '--json')).stdout) as WorkerView & TaskView;

  expect(await cli('escalations')).toEqual({
    code: 0,
    stdout: "Nothing is waiting for a person in fleet 'main'\n",
    stderr: '',
  });
  const gaveUp = { attempt: 'a1', output: 'Which key? <promise>ESCALATE</promise>' };
  await publishAll([
    ['worker.w1.task.claimed', { task: 'T-1' }],
    ['worker.w1.stop.attempted', gaveUp],
    ['worker.w2.worker.registered', { policy: 'strict' }],
    ['worker.w2.stop.attempted', { attempt: 'a1' }],
    ['worker.w2.stop.attempted', { attempt: 'a2' }],
    ['worker.w3.task.claimed', { task: 'T-3' }],
    ['worker.w3.task.failed', { task: 'T-3', reason: 'no access' }],
  ]);
  const listed = await cli('escalations', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { entity: 'worker', id: 'w1', cause: 'escalated', attempt: 'a1', acknowledgedBy: null },
    { entity: 'task', id: 'T-1', cause: 'escalated', worker: 'w1', withWorker: true },
    { entity: 'worker', id: 'w2', cause: 'stuck', attempt: 'a2' },
    { entity: 'task', id: 'T-3', cause: 'failed', reason: 'no access' },
  ]);
  expect((await cli('escalations')).stdout).toMatch(/^worker w1 .* Which key\?$/m);
  await dev.printed('escalated: needs a person');

  // Others can only read.
  const elsewhere = await makeFolder();
  onTestFinished(() => elsewhere.remove());
  const { nats } = JSON.parse(dev.stdout()) as { nats: string };
  for (const words of [
    ['ack', 'w1'],
    ['resolve', 'w1', '--resume'],
    ['retire', 'w1'],
  ]) {
    const denied = await runOnce([...words, '--yes', '--nats', nats], { cwd: elsewhere.path });
    expect(denied).toMatchObject({ code: 2, stdout: '' });
    expect(denied.stderr).toContain("name an operator's credentials with --creds");
  }
  expect(await view('worker', 'w1')).toMatchObject({ state: 'escalated', escalation: { acknowledgedBy: null } });

  expect(await cli('ack', 'w1', '--by', 'ann', '--yes')).toMatchObject({
    code: 0,
    stdout:
      'w1: acknowledged by ann\nit stays escalated; end that with "npx stopgate resolve w1 --resume" (or --stop)\n',
  });
  expect((await cli('escalations')).stdout).toMatch(/^worker w1 .* by ann /m);

  const resumed = await cli('resolve', 'w1', '--resume', '--prompt', 'Use the other key', '--by', 'ann', '--yes');
  expect(resumed).toMatchObject({ code: 0, stderr: '' });
  expect(resumed.stdout).toContain('w1: resolved; now idle');
  expect(resumed.stdout).toContain('task T-1 is still escalated: npx stopgate resolve T-1 --task --resume');
  const resolution = { by: 'ann', verdict: 'resume', prompt: 'Use the other key' };
  expect(await view('worker', 'w1')).toMatchObject({ state: 'idle', escalation: null, resolution });
  expect((await cli('worker', 'w1')).stdout).toMatch(/resolved +resume by ann, .*: Use the other key/);

  const stopped = await cli('resolve', 'w2', '--stop', '--yes', '--json');
  expect(JSON.parse(stopped.stdout)).toMatchObject({ worker: 'w2', state: 'stopped', resolution: { verdict: 'stop' } });
  expect(await cli('ack', 'T-3', '--task', '--yes')).toMatchObject({ code: 0 });
  expect(await cli('resolve', 'T-3', '--task', '--resume', '--yes')).toMatchObject({
    code: 0,
    stdout: 'T-3: resolved; now idle\n',
  });
  expect(await cli('resolve', 'T-1', '--task', '--stop', '--yes')).toMatchObject({ code: 0 });
  expect(await view('task', 'T-1')).toMatchObject({ state: 'stopped', outcome: 'cancelled' });
  expect(JSON.parse((await cli('escalations', '--json')).stdout)).toEqual([]);

  expect(await cli('retire', 'w3', '--yes')).toMatchObject({ code: 0, stdout: 'w3: retired; now stopped\n' });
  const again = await cli('retire', 'w3', '--yes');
  expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('worker w3 is already retired') });
  expect((await cli('audit', '--worker', 'w3', '--json')).stdout.match(/worker\.retired/g)).toHaveLength(1);
  // The end of a session leads to the same state, so a retirement after it is not a transition.
  expect(await cli('publish', 'worker.w4.session.ended', '{}')).toMatchObject({ code: 0 });
  expect(await view('worker', 'w4')).toMatchObject({ state: 'stopped', ended: 'ended' });
  expect(await cli('retire', 'w4', '--yes')).toMatchObject({ code: 0 });
  expect(await cli('retire', 'w4', '--yes')).toMatchObject({ code: 1 });
  expect((await cli('audit', '--worker', 'w4', '--json')).stdout.match(/worker\.retired/g)).toHaveLength(1);
  const claim = await cli('publish', 'worker.w3.task.claimed', '{"task":"T-3"}');
  expect(claim.code).toBe(0);
  expect((await view('worker', 'w3')).refused).toMatchObject([{ reason: 'worker w3 is retired' }]);

  expect(await cli('resolve', 'w1', '--resume', '--yes')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'stopgate: worker w1 is not escalated: it is idle\n',
  });
  expect(await cli('ack', 'nobody', '--yes')).toMatchObject({ code: 1 });
});

describe('notices without an escalation', () => {
  const neglected = (url: string, remind: string) =>
    `escalation: { waiting: 1s, unattended: 1s, remind: ${remind}, webhook: { url: "${url}", secretEnv: HOOK_SECRET } }\n`;
  const told = ({ received }: Receiver) =>
    received.map(({ body }) => `${body.kind} ${body.id} ${body.reminder}`).sort();
  const neglect = async ({ client }: Deployment) => {
    await client.publish('worker.w1.input.requested', { tool: 'Bash', detail: 'make deploy', request: 'r1' });
    await client.publish('task.T-1.task.created', { title: 'Fix login', queue: 'build' });
  };

  test('a waiting request and an unattended queue are reported once, by one of two services', async () => {
    const receiver = await receive();
    const at = await deployWith(receiver, 'null', { config: neglected(receiver.url, 'null') });
    await startSecond(at);
    await neglect(at);
    await eventually(() => told(receiver)).toEqual(['unattended build 0', 'waiting w1 0']);
    const bodies = receiver.received.map(({ body }) => body);
    const { since } = bodies.find(({ kind }) => kind === 'waiting') as { since: string };
    expect(bodies).toContainEqual({
      v: 1,
      kind: 'waiting',
      fleet: 'main',
      entity: 'worker',
      id: 'w1',
      link: null,
      agent: null,
      cwd: null,
      since,
      reminder: 0,
      sentence: 'Asks: Bash: make deploy',
      request: 'r1',
      tool: 'Bash',
      message: null,
      detail: 'make deploy',
      delivery: expect.any(String),
      reason: `Worker w1 has waited for a person since ${since}: Bash: make deploy`,
      missing: [expect.stringContaining('stopgate answer w1 --request r1')],
    });
    expect(bodies).toContainEqual(
      expect.objectContaining({
        kind: 'unattended',
        entity: 'queue',
        id: 'build',
        pending: 1,
        next: [{ task: 'T-1', title: 'Fix login' }],
        reason: expect.stringMatching(
          /^1 task waits in queue build, and no worker is there to take it: T-1 Fix login\. Nobody/,
        ),
        missing: [expect.stringContaining('worker of queue build')],
      }),
    );
    // Nobody sends a stored notice again.
    await eventually(() => notices(at, 'w1')).toHaveLength(1);
    const ofQueue = () => at.client.stored('STOPGATE_main', 'stopgate.main.own.queue.build.escalation.notified');
    await eventually(ofQueue).toHaveLength(1);
    await startSecond(at);
    await giveUp(at, 'w2');
    expect(told(receiver)).toEqual(['unattended build 0', 'waiting w1 0']);
  });

  test('reminders are sent until somebody acknowledges it, and it is listed until it ends', async () => {
    const receiver = await receive();
    const at = await deployWith(receiver, 'null', { config: neglected(receiver.url, '300ms') });
    await neglect(at);
    const count = (id: string) => receiver.received.filter(({ body }) => body.id === id).length;
    for (const id of ['w1', 'build']) await eventually(() => count(id)).toBeGreaterThanOrEqual(3);
    const cli = (...line: readonly string[]) => runCommand([...line, '--nats', at.server.url], { cwd: at.folder.path });
    const listed = async () => JSON.parse((await cli('escalations', '--json')).stdout) as Record<string, unknown>[];
    expect(await listed()).toMatchObject([
      { entity: 'worker', id: 'w1', kind: 'input', overdue: { acknowledgedBy: null } },
      { entity: 'queue', id: 'build', kind: 'unattended', pending: 1, acknowledgedBy: null, state: null },
    ]);
    expect((await cli('escalations', '--kind', 'unattended')).stdout).toMatch(/^queue build .* 1 task waits/m);
    expect((await cli('queues')).stdout).toMatch(/^build +1 +0 +0 +T-1$/m);
    expect(await cli('ack', 'build', '--queue', '--yes', '--by', 'ann')).toMatchObject({ code: 0, stderr: '' });
    const others = count('w1');
    const quiet = count('build');
    await eventually(() => count('w1')).toBeGreaterThan(others + 3);
    expect(count('build')).toBeLessThanOrEqual(quiet + 1);
    expect(await cli('ack', 'w1', '--yes', '--by', 'ann')).toMatchObject({ code: 0, stderr: '' });
    expect(await cli('ack', 'other', '--queue', '--yes')).toMatchObject({ code: 1 });
    expect(await cli('answer', 'w1', '--allow', '--yes', '--by', 'ann')).toMatchObject({ code: 0 });
    await at.client.publish('worker.w2.worker.registered', { queue: 'build' });
    await eventually(listed).toEqual([]);
  });
});

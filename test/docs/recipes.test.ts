/** Tests the recipes of docs/recipes.md, unchanged, with a real service and servers on loopback. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { hashOfToken } from '../../src/config/access-tokens.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { deploy } from '../support/deployment.ts';
import { readPage, root } from '../support/markdown.ts';
import { openReceiver } from '../support/receiver.ts';

const { PATH = '' } = readEnvironment();
const canMail = / smtp( |$)/m.test(spawnSync('curl', ['--version'], { encoding: 'utf8' }).stdout ?? '');

/** Starts an SMTP server that accepts every mail. */
async function openMailServer() {
  const mails: { from: string; to: string[]; text: string }[] = [];
  const server = createServer((socket) => {
    let mail = { from: '', to: [] as string[], text: '' };
    let isData = false;
    socket.on('error', () => undefined);
    socket.write('220 test\r\n');
    createInterface({ input: socket }).on('line', (line) => {
      if (isData && line !== '.') mail.text += `${line}\n`;
      else if (isData) {
        isData = false;
        mails.push(mail);
        mail = { from: '', to: [], text: '' };
        socket.write('250 taken\r\n');
      } else if (/^(EHLO|HELO)/.test(line)) socket.write('250 test\r\n');
      else if (line.startsWith('MAIL FROM:')) {
        mail.from = line.slice(10);
        socket.write('250 ok\r\n');
      } else if (line.startsWith('RCPT TO:')) {
        mail.to.push(line.slice(8));
        socket.write('250 ok\r\n');
      } else if (line === 'DATA') {
        isData = true;
        socket.write('354 go on\r\n');
      } else socket.end('221 bye\r\n');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, mails };
}

async function startNotify(env: Record<string, string>) {
  const child = spawn(process.execPath, [join(root, 'docs/examples/notify.mjs')], {
    env: { PATH, HOOK_SECRET: 'of the test', LISTEN: '127.0.0.1:0', ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return String(line).replace('receives at ', '');
}

test.skipIf(!canMail)('an escalation reaches Slack and a mailbox once, although Slack was down at first', async () => {
  const slack = await openReceiver();
  onTestFinished(() => slack.close());
  slack.answer((response, count) => response.writeHead(count === 1 ? 500 : 200).end());
  const mail = await openMailServer();
  const url = await startNotify({
    SLACK_URL: slack.url,
    SMTP_URL: mail.url,
    MAIL_FROM: 'gate@example.com',
    MAIL_TO: 'a@example.com, b@example.com',
  });
  const at = await deploy({
    config: `policies: { default: { promises: true } }\nescalation: { webhook: { url: "${url}", secretEnv: HOOK } }\n`,
    env: { HOOK: 'of the test' },
  });
  onTestFinished(() => at.close());
  await at.client.ask('decide.w1', { output: '<promise>ESCALATE</promise>' });
  await expect.poll(() => mail.mails.length).toBe(1);
  expect(mail.mails).toMatchObject([{ from: '<gate@example.com>', to: ['<a@example.com>', '<b@example.com>'] }]);
  const [head = '', body = ''] = mail.mails[0]?.text.split('\n\n') ?? [];
  expect(head).toContain('Content-Transfer-Encoding: base64');
  expect(Buffer.from(body, 'base64').toString()).toContain('Answer: stopgate resolve w1 --resume --fleet main');
  expect(slack.received.map(({ body }) => body.text)).toEqual([
    expect.stringContaining('*Waiting for you: worker w1 (main)*'),
    expect.stringContaining('*Waiting for you: worker w1 (main)*'),
  ]);
  const forged = await fetch(url, { method: 'POST', body: '{}', headers: { 'stopgate-signature': 'sha256=00' } });
  expect(forged.status).toBe(401);
});

const action = parse(readFileSync(join(root, 'docs/examples/github/action.yml'), 'utf8'));

test('the step for GitHub passes only complete work', async () => {
  const tokens = `{ ci: { role: read, workers: ["pr-*"], hash: "${hashOfToken('right')}" } }`;
  const at = await deploy({
    config: `policies: { default: { checks: [{ plan: { required: true } }] }, free: {} }\ntokens: ${tokens}\n`,
  });
  onTestFinished(() => at.close());
  const plan = (status: string) => ({ steps: [{ title: 'Write tests', status }] });
  await at.client.publish('worker.pr-1.plan.updated', plan('pending'));
  await at.client.publish('worker.pr-2.plan.updated', plan('done'));
  await at.client.publish('worker.pr-4.worker.registered', { policy: 'free' });
  await at.client.publish('worker.other.plan.updated', plan('done'));
  const [step] = action.runs.steps as { run: string; env: Record<string, string> }[];
  const gate = async (worker: string, token = 'right', url = at.http) => {
    const given = { url, token, worker, fleet: 'main' } as Record<string, string>;
    const env = Object.fromEntries(
      Object.entries(step?.env ?? {}).map(([name, text]) => [
        name,
        text.replace(/\$\{\{ inputs\.(\w+) \}\}/, (_, it) => given[it] ?? ''),
      ]),
    );
    // GitHub runs it like this.
    const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step?.run ?? ''], {
      env: { PATH, ...env },
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [code] = await once(child, 'close');
    return { code, said };
  };
  const [done, pending, unknown, unchecked, foreign, wrong, away] = await Promise.all([
    gate('pr-2'),
    gate('pr-1'),
    gate('pr-3'),
    gate('pr-4'),
    gate('other'),
    gate('pr-2', 'wrong'),
    gate('pr-2', 'right', 'http://127.0.0.1:1'),
  ]);
  expect(done).toMatchObject({ code: 0, said: expect.stringContaining('complete: {') });
  expect(pending).toMatchObject({ code: 1, said: expect.stringMatching(/^::error title=not complete::.*Write tests/) });
  expect(unknown.code).toBe(1);
  expect(unchecked).toMatchObject({ code: 1, said: expect.stringMatching(/title=nothing was checked::.*no-policy/) });
  expect(foreign).toMatchObject({ code: 2, said: expect.stringContaining("is not for the worker 'other'") });
  expect(wrong).toMatchObject({ code: 2, said: expect.stringContaining('401') });
  expect(away).toMatchObject({ code: 3, said: expect.stringContaining('could not be asked') });
});

test('the workflow sets only inputs of the action', () => {
  const fence = readPage('docs/recipes.md').fences.find(({ text }) => text.includes('.github/workflows/'));
  const { jobs, on } = parse(fence?.text ?? '');
  expect(on).toBe('pull_request');
  const given = Object.keys(jobs.complete.steps.at(-1).with);
  const inputs = Object.entries(action.inputs as Record<string, { required?: boolean }>);
  expect(given.filter((name) => !Object.hasOwn(action.inputs, name))).toEqual([]);
  expect(inputs.filter(([name, { required }]) => required && !given.includes(name))).toEqual([]);
});

/** stopgate.yaml of a running service: changes apply at once; a broken file changes nothing and is reported. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { type Deployment, type DeploymentOptions, deploy, makeFolder } from '../../support/deployment.ts';

const lenient = 'policies: { default: { retries: 7 } }\n';
const strict = `
policies:
  default:
    retries: 2
    checks: [{ plan: {} }]
`;
const broken = `
policies:
  default:
    retries: 2
    chekcs: [{ plan: {} }]
`;

const open: Deployment[] = [];
const start = async (options: DeploymentOptions) => {
  const at = await deploy(options);
  open.push(at);
  return at;
};
afterEach(async () => {
  for (const at of open.splice(0)) await at.close();
});

const retriesOf = async ({ client }: Deployment, worker: string) =>
  (await client.ask(`probe.${worker}`)).body.retry.max;
const policyEntries = ({ client }: Deployment) =>
  client.stored('STOPGATE_main', 'stopgate.main.own.fleet.main.policy.set');
const messages = (at: Deployment) => at.log().map((line) => line.msg);
const step = { steps: [{ title: 'Write tests', status: 'pending' }] };

test('a changed file applies to the next decision, without a restart; a broken one changes nothing until it is repaired', async () => {
  const at = await start({ config: lenient });
  await at.client.publish('worker.w1.plan.updated', step);
  expect((await at.client.ask('decide.w1')).body).toMatchObject({
    decision: 'allow',
    cause: 'no-policy',
    retry: { max: 7 },
  });

  await at.folder.write('stopgate.yaml', strict);
  await expect.poll(() => retriesOf(at, 'w1')).toBe(2);
  const { body } = await at.client.ask('decide.w1');
  expect(body).toMatchObject({
    decision: 'block',
    reason: '1 of 1 plan steps remain: Write tests',
    policy: { name: 'default' },
  });
  expect(body.policy.seq).toBeGreaterThan(0);

  await at.folder.write('stopgate.yaml', broken);
  await expect.poll(() => messages(at)).toContain('the configuration is not valid: the last one stays in force');
  expect(at.log().find((line) => 'problems' in line)).toMatchObject({
    level: 'error',
    problems: ['stopgate.yaml:5:5: unknown key "chekcs"; did you mean "checks"?'],
  });
  expect((await at.client.ask('decide.w1')).body).toMatchObject({
    decision: 'block',
    retry: { max: 2 },
    policy: body.policy,
  });

  await at.folder.write('stopgate.yaml', broken.replace('chekcs', 'checks').replace('2', '5'));
  await expect.poll(() => retriesOf(at, 'w1')).toBe(5);
  // Nothing of the broken file is stored; each valid one is one entry.
  expect(
    (await policyEntries(at)).map((entry) => (entry.policies as { default: { retries: number } }).default.retries),
  ).toEqual([7, 2, 5]);
});

const brokenFiles: readonly [what: string, text: string, words: RegExp][] = [
  ['no YAML at all', 'policies: [\n', /^stopgate\.yaml:\d+:\d+: /],
  ['a wrong type', 'policies: { default: { retries: many } }\n', /^stopgate\.yaml:1:33: .*"many"/],
  [
    'a duration without a unit that is known',
    'policies: { default: { persistence: { idle: 3 weeks } } }\n',
    /^stopgate\.yaml:1:45: .*"3 weeks"/,
  ],
  // Root cause: the URL was decoded when the webhook was created, not when the file was read.
  [
    'a webhook with a broken escape in its password',
    'escalation: { webhook: { url: "http://us%er:pw@127.0.0.1:1/" } }\n',
    /^stopgate\.yaml:1:31: the user or password .*%25$/,
  ],
  // Root cause: an empty text was read as a file without policies, and an editor may empty a file before it writes it.
  ['empty', '', /^stopgate\.yaml is empty; .*"policies: \{\}"/],
  ['nothing but comments', '# soon\n', /^stopgate\.yaml is empty/],
  ['UTF-16', '\u0000p\u0000o', /^stopgate\.yaml:1:1: the file is UTF-16/],
];

test('a broken file is reported with the line, and the old policy stays', async () => {
  const at = await start({ config: lenient });
  const reported = () => at.log().flatMap(({ problems }) => (problems === undefined ? [] : [problems]));
  for (const [index, [what, text, words]] of brokenFiles.entries()) {
    await at.folder.write('stopgate.yaml', text);
    await expect.poll(() => reported().length, { message: what }).toBe(index + 1);
    expect(reported()[index], what).toEqual([expect.stringMatching(words)]);
    expect(await retriesOf(at, 'w1'), what).toBe(7);
  }
});

test('a file that becomes unreadable is reported by name, and the old policy stays', async () => {
  const at = await start({ config: lenient });
  await rm(join(at.folder.path, 'stopgate.yaml'));
  await mkdir(join(at.folder.path, 'stopgate.yaml'));
  const told = () => at.log().filter(({ msg }) => msg === 'cannot read a file: its last contents stay in force');
  await expect.poll(told).toMatchObject([{ level: 'error', reason: 'it is a folder' }]);
  expect(await retriesOf(at, 'w1')).toBe(7);
});

test('a service that starts on an empty file has the policies of its log, and warns', async () => {
  const at = await start({ config: '' });
  expect(await policyEntries(at)).toEqual([]);
  expect(messages(at).join()).toContain(
    'stopgate.yaml is empty: the policies in the log stay in force; with none in the log, every stop is allowed',
  );
});

test('a new file is read; a deleted one leaves its policies in force; only a file without policies withdraws them', async () => {
  const at = await start({});
  expect(await retriesOf(at, 'w1')).toBe(3);
  expect(await policyEntries(at)).toEqual([]);
  await at.folder.write('stopgate.yaml', lenient);
  await expect.poll(() => retriesOf(at, 'w1')).toBe(7);
  await rm(join(at.folder.path, 'stopgate.yaml'));
  await expect
    .poll(() => messages(at))
    .toContain('the configuration file is gone: the last configuration stays in force');
  expect(await retriesOf(at, 'w1')).toBe(7);
  await at.folder.write('stopgate.yaml', 'policies: {}\n');
  await expect.poll(() => retriesOf(at, 'w1')).toBe(3);
});

test('an open attempt keeps the policy that it started with', async () => {
  const held = 'policies: { default: { retries: 7, persistence: { idle: 10m, hold: 30s } } }\n';
  const at = await start({ config: held });
  const waiting = at.client.ask('decide.w1', { attempt: 'a1' });
  await expect.poll(async () => (await at.client.ask('get.worker.w1')).body.state).toBe('validating');
  await at.folder.write('stopgate.yaml', strict);
  await expect.poll(() => retriesOf(at, 'w2')).toBe(2);
  await at.client.publish('task.T-1.task.created');
  expect((await waiting).body).toMatchObject({ cause: 'pending-tasks', retry: { max: 7 } });
  expect((await at.client.ask('decide.w1', { attempt: 'a2' })).body).toMatchObject({
    cause: 'complete',
    retry: { max: 2 },
  });
});

test('a changed command runs in its new form', async () => {
  const configFor = (code: number) => `
policies: { default: { checks: [{ command: tests }] } }
commands: { tests: { run: [sh, -c, 'exit ${code}'], cwd: . } }
`;
  const at = await start({ config: configFor(1) });
  expect((await at.client.ask('decide.w1')).body).toMatchObject({
    decision: 'block',
    reason: 'Command tests failed (exit 1)',
  });
  await at.folder.write('stopgate.yaml', configFor(0));
  await expect.poll(() => messages(at)).toContain('reloaded the configuration');
  expect((await at.client.ask('decide.w1')).body).toMatchObject({ decision: 'allow', cause: 'complete' });
  expect(await policyEntries(at)).toHaveLength(1); // the policies are unchanged
});

test('a service does not start with a broken file, and names the line', async () => {
  const folder = await makeFolder({ 'stopgate.yaml': broken });
  const { code, stdout, stderr } = await runCommand(['serve', '--nats', 'nats://127.0.0.1:1', '--http', 'off'], {
    cwd: folder.path,
  });
  await folder.remove();
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('stopgate.yaml:5:5: unknown key "chekcs"; did you mean "checks"?');
});

/** Receipts: what is attested and what never is, signatures, and the repository at the tree that was judged. */
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import type { Envelope, Statement } from '../../../src/inspector/receipts/statement.ts';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';

const git = { git: { clean: true } };
const tests = { command: 'tests', timeout: '100s' };
const config = JSON.stringify({
  policies: {
    default: { checks: [{ plan: {} }, tests, { command: 'lint', onFail: 'warn' }, git] },
    planned: { checks: [{ plan: {} }] },
    untidy: { checks: [tests] },
    capped: { retries: 0, checks: [{ command: 'lint' }] },
    moving: { checks: [tests, { command: 'commit' }, git] },
  },
  commands: {
    tests: { run: ['true'] },
    lint: { run: ['false'] },
    commit: { run: ['git', '-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-qm', 'more', '--allow-empty'] },
  },
});

let at: Deployment;
const run = promisify(execFile);
const gitIn = async (cwd: string, ...args: string[]) => {
  const env = { PATH: readEnvironment().PATH ?? '', HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };
  const all = ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args];
  return (await run('git', all, { cwd, env })).stdout.trim();
};
/** A repository in which a worker works. */
async function makeRepository(name: string): Promise<string> {
  await at.folder.write(`${name}/a.txt`, 'a\n');
  const cwd = join(at.folder.path, name);
  await gitIn(cwd, 'init', '-q');
  await gitIn(cwd, 'add', '.');
  await gitIn(cwd, 'commit', '-qm', 'first');
  return cwd;
}
const attest = (...args: string[]) =>
  runCommand(['attest', '--nats', at.server.url, '--config', 'stopgate.yaml', ...args], { cwd: at.folder.path });
const verify = (...args: string[]) => runCommand(['attest', '--verify', ...args], { cwd: at.folder.path });

async function stop(worker: string, cwd: string, policy = 'default', task?: string) {
  await at.client.publish(`worker.${worker}.worker.registered`, { cwd, policy });
  if (task !== undefined) await at.client.publish(`worker.${worker}.task.claimed`, { task });
  return (await at.client.ask(`decide.${worker}`, { attempt: `${worker}-1` })).body as { cause: string; seq: number };
}

beforeAll(async () => {
  at = await deploy({ config });
  for (const name of ['key', 'other']) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    await at.folder.write(`${name}.pem`, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
    await at.folder.write(`${name}.pub`, publicKey.export({ type: 'spki', format: 'pem' }) as string);
  }
});
afterAll(() => at.close());

test('a receipt says what was judged: commit, tree, policy, checks and the position in the log', async () => {
  const cwd = await makeRepository('plain');
  const decision = await stop('w1', cwd, 'default', 'T-1');
  expect(decision.cause).toBe('complete');
  const [commit, tree] = await Promise.all(['HEAD', 'HEAD^{tree}'].map((what) => gitIn(cwd, 'rev-parse', what)));
  const { code, stdout, stderr } = await attest('--worker', 'w1');
  expect([code, stderr]).toEqual([0, '']);
  const statement = JSON.parse(stdout) as Statement;
  expect(statement).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [
      { name: 'commit', digest: { gitCommit: commit } },
      { name: 'tree', digest: { gitTree: tree } },
    ],
    predicate: {
      fleet: 'main',
      worker: 'w1',
      task: 'T-1',
      tasks: ['T-1'],
      decision: { attempt: 'w1-1', decision: 'allow', action: 'complete', cause: 'complete' },
      policy: { name: 'default', digest: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      checks: [
        { check: 'plan', kind: 'plan', outcome: 'pass' },
        { check: 'tests', kind: 'command', outcome: 'pass' },
        { check: 'lint', kind: 'command', outcome: 'warn', message: 'Command lint failed (exit 1)' },
        { check: 'git', kind: 'git', outcome: 'pass' },
      ],
      log: { stream: 'STOPGATE_main', attempt: decision.seq },
    },
  });
  expect(statement.predicate.log.decided).toBeGreaterThan(decision.seq);

  const ofTask = await attest('--task', 'T-1', '--json');
  expect(JSON.parse(ofTask.stdout)).toEqual(statement);
  const byAttempt = await attest('--worker', 'w1', '--attempt', 'w1-1', '--json');
  expect(JSON.parse(byAttempt.stdout)).toEqual(statement);
  const served = await fetch(`${at.http}/api/main/receipt/worker/w1`);
  expect([served.status, await served.json()]).toEqual([200, statement]);
});

test('it is about the tree of then, not of now, and about the decision that was asked for', async () => {
  const cwd = await makeRepository('later');
  await stop('w2', cwd);
  const tree = await gitIn(cwd, 'rev-parse', 'HEAD^{tree}');
  await writeFile(join(cwd, 'a.txt'), 'changed\n');
  await gitIn(cwd, 'commit', '-qam', 'second');
  const treeIn = ({ stdout }: { stdout: string }) => (JSON.parse(stdout) as Statement).subject[1].digest.gitTree;
  expect(treeIn(await attest('--worker', 'w2'))).toBe(tree);
  await at.client.ask('decide.w2', { attempt: 'w2-2' });
  expect(treeIn(await attest('--worker', 'w2'))).toBe(await gitIn(cwd, 'rev-parse', 'HEAD^{tree}'));
  expect(treeIn(await attest('--worker', 'w2', '--attempt', 'w2-1'))).toBe(tree);
});

describe('there is no receipt', () => {
  const refused = async (...args: string[]) => {
    const { code, stdout, stderr } = await attest(...args);
    expect([code, stdout]).toEqual([1, '']);
    return stderr;
  };

  test('of a stop that was allowed at the cap', async () => {
    const { cause } = await stop('w3', await makeRepository('capped'), 'capped');
    expect(cause).toBe('capped');
    expect(await refused('--worker', 'w3')).toContain('ended as allow · complete · capped');
    const served = await fetch(`${at.http}/api/main/receipt/worker/w3`);
    expect([served.status, await served.json()]).toMatchObject([409, { error: { code: 'INCOMPLETE' } }]);
  });

  test('if no check looked at the repository', async () => {
    await stop('w4', await makeRepository('planned'), 'planned');
    expect(await refused('--worker', 'w4')).toContain('no check of this decision looked at a repository');
    const served = await fetch(`${at.http}/api/main/receipt/worker/w4`);
    expect(served.status).toBe(409);
  });

  test('if the work tree was not that of a commit', async () => {
    const cwd = await makeRepository('untidy');
    await writeFile(join(cwd, 'new.txt'), '');
    await stop('w5', cwd, 'untidy');
    expect(await refused('--worker', 'w5')).toContain('check tests judged: Uncommitted changes: new.txt');
  });

  test('if a commit came between its checks', async () => {
    await stop('w6', await makeRepository('moving'), 'moving');
    expect(await refused('--worker', 'w6')).toMatch(/the commit changed while the check ran|different trees/);
  });

  test('of a task that its worker only reported as completed, and of what is unknown', async () => {
    await at.client.publish('worker.w7.task.claimed', { task: 'T-7' });
    await at.client.publish('worker.w7.task.completed', { task: 'T-7' });
    expect(await refused('--task', 'T-7')).toContain('no decision has completed task T-7');
    expect(await refused('--worker', 'w7')).toContain('was never decided');
    expect(await refused('--worker', 'nobody')).toContain('unknown');
    expect(await refused('--worker', 'w1', '--attempt', 'none')).toContain('attempt none of w1 was never decided');
  });
});

describe('a signed receipt', () => {
  const sign = async (worker: string, repository: string) => {
    const cwd = await makeRepository(repository);
    await stop(worker, cwd);
    const { stdout } = await attest('--worker', worker, '--key', 'key.pem');
    await at.folder.write(`${worker}.json`, stdout);
    return { cwd, file: `${worker}.json`, envelope: JSON.parse(stdout) as Envelope };
  };

  test('is verified by its public key, and by no other', async () => {
    const { file, envelope } = await sign('s1', 'signed');
    expect(envelope).toMatchObject({
      payloadType: 'application/vnd.in-toto+json',
      signatures: [{ sig: expect.any(String) }],
    });
    const held = await verify(file, '--key', 'key.pub');
    expect([held.code, held.stdout]).toEqual([
      0,
      expect.stringMatching(/^holds: s1 of fleet main was judged complete/),
    ]);
    const other = await verify(file, '--key', 'other.pub', '--json');
    expect([other.code, JSON.parse(other.stdout)]).toEqual([
      1,
      { verified: false, problem: 'no signature in it is by this key', statement: null },
    ]);
  });

  test('that was changed does not hold', async () => {
    const { envelope } = await sign('s2', 'tampered');
    const payload = Buffer.from(envelope.payload, 'base64').toString().replace('"s2"', '"s3"');
    const forged = { ...envelope, payload: Buffer.from(payload).toString('base64') };
    const texts = [
      JSON.stringify(forged),
      JSON.stringify({ ...envelope, payloadType: 'application/json' }),
      JSON.stringify({ ...envelope, signatures: [] }),
      payload,
      JSON.stringify(envelope).slice(0, -20),
      '',
    ];
    for (const text of texts) {
      await at.folder.write('forged.json', text);
      const { code, stdout } = await verify('forged.json', '--key', 'key.pub');
      expect([code, stdout]).toEqual([1, expect.stringMatching(/^does not hold: /)]);
    }
  });

  test('says whether the repository is still at its tree', async () => {
    const { cwd, file } = await sign('s4', 'kept');
    const held = async () => (await verify(file, '--key', 'key.pub', '--repo', cwd)).code;
    expect(await held()).toBe(0);
    // Another commit of the same tree.
    await gitIn(cwd, 'commit', '-q', '--amend', '-m', 'other words');
    expect(await held()).toBe(0);
    await cp(cwd, `${cwd}-2`, { recursive: true });
    await writeFile(join(cwd, 'a.txt'), 'changed\n');
    expect(await held()).toBe(1);
    await gitIn(cwd, 'commit', '-qam', 'second');
    expect(await held()).toBe(1);
    const { code, stdout } = await verify(file, '--key', 'key.pub', '--repo', 'nowhere');
    expect([code, stdout]).toEqual([1, expect.stringContaining('does not exist')]);
    expect((await verify(file, '--key', 'key.pub', '--repo', `${cwd}-2`)).code).toBe(0);
  });

  test('runs nothing that the repository names', async () => {
    const { cwd, file } = await sign('s5', 'hostile');
    const mark = join(at.folder.path, 'ran');
    await gitIn(cwd, 'config', 'core.fsmonitor', `touch ${mark}; false`);
    await gitIn(cwd, 'config', 'filter.x.clean', `touch ${mark}; cat`);
    await writeFile(join(cwd, '.git', 'info', 'attributes'), '* filter=x\n');
    await verify(file, '--key', 'key.pub', '--repo', cwd);
    await expect(readFile(mark)).rejects.toThrow('ENOENT');
  });
});

test.each([
  { args: ['--worker', 'w1', '--task', 'T-1'], says: 'either --worker or --task' },
  { args: [], says: 'either --worker or --task' },
  { args: ['--worker', 'w1', '--repo', '.'], says: '--repo needs --verify' },
  { args: ['--task', 'T-1', '--attempt', 'a'], says: '--attempt needs --worker' },
  { args: ['--verify', 'key.pub'], says: 'needs the public key' },
  { args: ['--verify', 'none.json', '--key', 'key.pub'], says: 'no such file' },
  { args: ['--verify', 'key.pub', '--key', 'stopgate.yaml'], says: 'not a public key in PEM' },
  { args: ['--verify', 'key.pub', '--key', 'key.pub', '--worker', 'w'], says: 'omit --worker' },
  { args: ['--worker', 'w1', '--key', 'key.pub'], says: 'not a private key in PEM' },
])('wrong use: $args', async ({ args, says }) => {
  const { code, stderr } = await attest(...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
});

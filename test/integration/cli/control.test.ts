/** `test --control`: each check is shown to fail where it must, and one that passes anyway is found. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Control } from '../../../src/cli/commands/tools/control.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { jsonLines, openTerminal } from '../../support/terminal.ts';

const run = promisify(execFile);
const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b.c', '-c', 'init.defaultBranch=main'];

/** A repository of two commits: the second one adds `fix.txt`, without which the command `tests` fails. */
async function open(config: object, options: { readonly commits?: boolean } = {}) {
  const env = { PATH: readEnvironment().PATH ?? '', HOME: '/nonexistent' };
  const terminal = await openTerminal({ env, columns: 200 });
  const { cwd } = terminal;
  const write = async (name: string, text: string) => {
    await mkdir(dirname(join(cwd, name)), { recursive: true });
    await writeFile(join(cwd, name), text);
  };
  const git = async (...args: string[]) => (await run('git', [...identity, ...args], { cwd, env })).stdout;
  await write('stopgate.yaml', JSON.stringify(config));
  await write('.gitignore', 'installed/\n.stopgate/\n');
  await write('a.test.ts', 'old\n');
  await write('lib.txt', 'old\n');
  await write('gone.txt', 'here\n');
  await write('installed/package', 'here\n');
  await git('init', '-q');
  await git('add', '.');
  await git('commit', '-qm', 'first');
  if (options.commits !== false) {
    await write('fix.txt', 'fixed\n');
    await write('lib.txt', 'new\n');
    await git('rm', '-q', 'gone.txt');
    await git('add', '.');
    await git('commit', '-qm', 'Fix the login');
  }
  return { ...terminal, write, git };
}
const sh = (source: string) => ({ run: ['sh', '-c', source] });
const outcomes = (stdout: string) =>
  (jsonLines(stdout) as Control[]).map(({ policy, check, outcome }) => `${policy}/${check}: ${outcome}`);

test('every kind of check can fail where it must', async () => {
  const checks = [
    { plan: {} },
    { rules: ['tests_pass'] },
    { ran: 'npm test', onFail: 'warn' },
    { any: [{ files: ['out/report.md'] }, { command: 'tests', when: { label: 'never' } }] },
    { git: { clean: true, pushed: true, unchanged: ['*.test.ts'], since: 'main' } },
    { remote: 'scan' },
  ];
  const commands = { tests: sh('test -f fix.txt && grep -q new lib.txt && test -f installed/package') };
  const { run: type, stdout, git, cwd } = await open({ policies: { default: { checks } }, commands });
  const before = [await git('status', '--porcelain'), await git('rev-parse', 'HEAD')];
  expect(await type('test', '--control', '--json')).toBe(0);
  expect(outcomes(stdout())).toEqual([
    'default/plan: fails',
    'default/rules: fails',
    'default/ran: fails',
    'default/files: fails',
    'default/tests: fails',
    'default/git: fails',
    'default/git: fails',
    'default/git: fails',
    'default/scan: skipped',
  ]);
  const details = (jsonLines(stdout()) as Control[]).map(({ detail }) => detail);
  expect(details.slice(0, 8)).toEqual([
    '1 of 1 plan steps remain: Do the work',
    'Failed rules: tests_pass',
    'npm test has not run since changed.txt changed',
    'Missing required files: out/report.md',
    'Command tests failed (exit 1)',
    expect.stringContaining('Uncommitted changes: '),
    'Branch main has no upstream',
    'Changed files that must stay: a.test.ts',
  ]);
  expect([await git('status', '--porcelain'), await git('rev-parse', 'HEAD')]).toEqual(before);
  expect(await readdir(cwd)).not.toContain('.stopgate');
});

test('a command that passes without the last commit is found, and one that cannot run there', async () => {
  const checks = [{ command: 'lint' }, { command: 'gone' }, { command: 'elsewhere' }, { command: 'sees' }];
  const commands = {
    lint: sh('true'),
    gone: { run: ['no-such-program'] },
    elsewhere: { ...sh('true'), cwd: '/' },
    sees: sh('test -f uncommitted.txt && test ! -e fix.txt && grep -q old lib.txt && test -f gone.txt'),
  };
  const policies = { default: { checks }, other: { checks: [{ command: 'lint' }, { files: ['.'] }] } };
  const { run: type, stdout, stderr, write } = await open({ policies, commands });
  await write('uncommitted.txt', 'of the user');
  expect(await type('test', '--control')).toBe(1);
  expect(stdout().split('\n')).toEqual([
    expect.stringMatching(
      /^PASS {2}default: lint passes anyway with a copy without the last commit \(\w+ Fix the login\)$/,
    ),
    expect.stringMatching(/^ERROR default: gone cannot run with .*no-such-program/),
    '?     default: elsewhere was not tried: it runs in /, outside the work tree',
    expect.stringMatching(/^PASS {2}default: sees passes/),
    expect.stringMatching(/^PASS {2}other: lint passes/),
    'PASS  other: files passes anyway with an empty folder',
    '0 can fail, 4 passed anyway, 1 could not run, 1 not tried',
    '',
  ]);
  expect(stderr().match(/running lint/g)).toHaveLength(1);
});

test('what cannot be tried is said', async () => {
  const checks = [{ command: 'tests' }, { command: 'foreign' }, { git: { unchanged: ['none/**'] } }];
  const { run: type, stdout } = await open(
    { policies: { default: { checks } }, commands: { tests: sh('true') } },
    { commits: false },
  );
  expect(await type('test', '--control')).toBe(0);
  expect(stdout()).toContain('default: tests was not tried');
  expect(stdout()).toContain('default: foreign was not tried: another runner has the command foreign');
  expect(stdout()).toContain('default: git was not tried: no file of the repository matches none/**');
});

test('Ctrl-C ends what runs, and removes the copies', async () => {
  const commands = { slow: sh('pwd > "$MARK"; sleep 600') };
  const {
    cwd,
    run: type,
    pressCtrlC,
  } = await open({
    policies: { default: { checks: [{ command: 'slow' }] } },
    commands: { slow: { ...commands.slow, env: { MARK: '/dev/null' } } },
  });
  const mark = join(cwd, 'installed/mark');
  const slow = { ...commands.slow, env: { MARK: mark } };
  await writeFile(
    join(cwd, 'stopgate.yaml'),
    JSON.stringify({ policies: { default: { checks: [{ command: 'slow' }] } }, commands: { slow } }),
  );
  const ended = type('test', '--control');
  await expect.poll(() => readFile(mark, 'utf8').catch(() => '')).toContain('stopgate-control-');
  const copy = (await readFile(mark, 'utf8')).trim();
  pressCtrlC();
  expect(await ended).toBe(130);
  await expect(readdir(dirname(copy))).rejects.toThrow('ENOENT');
});

test('wrong use', async () => {
  const { run: type, stderr } = await openTerminal();
  expect(await type('test', '--control')).toBe(2);
  expect(stderr()).toContain("cannot read 'stopgate.yaml'");
  const other = await openTerminal();
  expect(await other.run('test', '--control', '--watch')).toBe(2);
});

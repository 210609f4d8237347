/** `npm run release` in a repository of its own, with an npm that only notes how it was called. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/release.sh', import.meta.url));
const changelog = '# Changelog\n\n## [Unreleased]\n\n### Added\n\n## [1.2.0]\n\n### Added\n\n- A thing.\n';

let folder: string;
const pathOf = (name: string) => join(folder, 'work', name);
const put = (name: string, text: string) => {
  mkdirSync(dirname(pathOf(name)), { recursive: true });
  writeFileSync(pathOf(name), text);
};

function run(program: string, ...args: string[]) {
  const identity = {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  };
  const path = [join(folder, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
  const env = { ...identity, PATH: path, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' };
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: join(folder, 'work'), env, encoding: 'utf8' });
  return { code: status, stdout, stderr };
}
const release = (...args: string[]) => run('bash', 'scripts/release.sh', ...args);
const commit = () => {
  for (const args of [
    ['add', '-A'],
    ['commit', '-q', '-m', 'all'],
  ])
    expect(run('git', ...args)).toMatchObject({ code: 0 });
};
const calls = () => (existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8').split('\n') : []);
const tags = () => run('git', '--git-dir', join(folder, 'origin'), 'tag').stdout.trim();

/** A program that notes its name and arguments, and ends as `code` says. */
function putStub(file: string, name: string, code = 0): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\necho "${name} $*" >>'${join(folder, 'calls')}'\nexit ${code}\n`);
  chmodSync(file, 0o755);
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stopgate-release-'));
  put('package.json', '{ "version": "1.2.0" }');
  put('CHANGELOG.md', changelog);
  mkdirSync(pathOf('scripts'));
  copyFileSync(script, pathOf('scripts/release.sh'));
  putStub(pathOf('.ci/run'), 'ci');
  putStub(join(folder, 'bin/npm'), 'npm');
  run('git', 'init', '-q');
  run('git', 'init', '-q', '--bare', join(folder, 'origin'));
  run('git', 'remote', 'add', 'origin', join(folder, 'origin'));
  commit();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a dry run prints what it would do, and does none of it', () => {
  expect(release('--dry-run')).toEqual({
    code: 0,
    stdout: [
      'would run: .ci/run',
      'would run: npm publish',
      'would run: git tag --annotate v1.2.0 --message v1.2.0',
      'would run: git push origin v1.2.0\n',
    ].join('\n'),
    stderr: '',
  });
  expect({ calls: calls(), tags: tags() }).toEqual({ calls: [], tags: '' });
});

test('a release is tested, published and tagged, in this order', () => {
  expect(release()).toMatchObject({ code: 0 });
  expect({ calls: calls(), tags: tags() }).toEqual({ calls: ['ci ', 'npm publish', ''], tags: 'v1.2.0' });
});

test.each([
  { what: 'the tests', file: () => pathOf('.ci/run'), name: 'ci', expected: ['ci ', ''] },
  { what: 'npm', file: () => join(folder, 'bin/npm'), name: 'npm', expected: ['ci ', 'npm publish', ''] },
])('where $what fail nothing is tagged', ({ file, name, expected }) => {
  putStub(file(), name, 1);
  run('git', 'commit', '-qam', 'fails');
  expect(release()).toMatchObject({ code: 1 });
  expect({ calls: calls(), tags: tags() }).toEqual({ calls: expected, tags: '' });
});

test.each([
  { why: 'a change that is not committed', change: () => put('new.ts', ''), says: 'the working tree is not clean' },
  {
    why: 'a version that is tagged',
    change: () => void run('git', 'tag', 'v1.2.0'),
    says: 'v1.2.0 is released already',
  },
  {
    why: 'a version without notes',
    change: () => {
      put('CHANGELOG.md', changelog.replace('- A thing.', ''));
      commit();
    },
    says: 'CHANGELOG.md says nothing under "## [1.2.0]"',
  },
  {
    why: 'changes without a version',
    change: () => {
      put('CHANGELOG.md', changelog.replace('### Added\n', '### Added\n\n- Another.\n'));
      commit();
    },
    says: 'CHANGELOG.md has changes under "## [Unreleased]"',
  },
])('$why is refused, by a dry run too', ({ change, says }) => {
  change();
  for (const args of [['--dry-run'], []]) {
    expect(release(...args)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(says) });
  }
  expect(calls()).toEqual([]);
});

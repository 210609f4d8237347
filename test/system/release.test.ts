/** Runs `npm run release` in a temporary repository, with an npm that only records its calls. */
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

const scripts = ['release.sh', 'images.sh', 'audit.js'];
const pathOfScript = (name: string) => fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url));
const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
const changelog = '# Changelog\n\n## [Unreleased]\n\n### Added\n\n## [1.2.0]\n\n### Added\n\n- A thing.\n';

const tarballs = {
  nats: 'dist/packages/stopgate-nats-server-linux-x64-2.15.3.tgz',
  client: 'dist/packages/stopgate-client-1.2.0.tgz',
  stopgate: 'dist/packages/stopgate-1.2.0.tgz',
};
const checked = (tarball: string) => `npx --yes @arethetypeswrong/cli@0.18.5 --profile esm-only ${tarball}`;
const published = (tarball: string) => `npm publish --provenance --access public ${tarball}`;
const packed = 'npm run packages -- --nats-releases https://github.com/nats-io/nats-server/releases/download';

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
/** Drops calls that change nothing. */
const acts = () => calls().filter((call) => call !== '' && !call.startsWith('npm view '));
const tags = () => run('git', '--git-dir', join(folder, 'origin'), 'tag').stdout.trim();

/** Writes a program that records its name and arguments, prints `says`, and exits with `code`. */
function putStub(file: string, name: string, { says = '', code = 0 } = {}): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\necho "${name} $*" >>'${join(folder, 'calls')}'\necho '${says}'\nexit ${code}\n`);
  chmodSync(file, 0o755);
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stopgate-release-'));
  put('package.json', '{ "version": "1.2.0", "repository": "here" }');
  put('CHANGELOG.md', changelog);
  mkdirSync(pathOf('scripts'));
  for (const name of scripts) copyFileSync(pathOfScript(name), pathOf(`scripts/${name}`));
  put('docker/Dockerfile', `ARG BASE_IMAGE=node:20-slim@${digest}\nFROM \${BASE_IMAGE}\n`);
  for (const name of ['', 'cluster/'])
    put(`docker/${name}compose.yaml`, `services:\n  nats:\n    image: nats:2-alpine@${digest} # a note\n`);
  for (const name of ['run', 'nightly']) putStub(pathOf(`.ci/${name}`), name);
  for (const name of ['npm', 'npx']) putStub(join(folder, 'bin', name), name);
  for (const tarball of Object.values(tarballs)) put(tarball, ''); // `npm run packages` would make them
  run('git', 'init', '-q');
  run('git', 'init', '-q', '--bare', join(folder, 'origin'));
  run('git', 'remote', 'add', 'origin', join(folder, 'origin'));
  commit();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const audited = 'npm audit --json';
const tested = ['run ', 'nightly '];
/** All calls of a release between its tests and its tag, in order. */
const steps = [
  packed,
  published(tarballs.nats),
  checked(tarballs.client),
  published(tarballs.client),
  checked(tarballs.stopgate),
  published(tarballs.stopgate),
];

test('a dry run prints its steps and runs none', () => {
  const tagged = ['git tag --annotate v1.2.0 --message v1.2.0', 'git push origin v1.2.0'];
  expect(release('--dry-run')).toEqual({
    code: 0,
    stdout: ['node scripts/audit.js', '.ci/run', '.ci/nightly', ...steps, ...tagged]
      .map((step) => `would run: ${step}\n`)
      .join(''),
    stderr: '',
  });
  expect({ calls: acts(), tags: tags() }).toEqual({ calls: [], tags: '' });
});

test('a release is tested, packed, checked, published with provenance and tagged, in this order', () => {
  expect(release()).toMatchObject({ code: 0 });
  expect({ calls: acts(), tags: tags() }).toEqual({ calls: [audited, ...tested, ...steps], tags: 'v1.2.0' });
});

test('an already published nats-server is not published again', () => {
  putStub(join(folder, 'bin/npm'), 'npm', { says: '2.15.3' });
  expect(release()).toMatchObject({ code: 0 });
  expect(acts()).not.toContain(published(tarballs.nats));
  expect(acts()).toContain(published(tarballs.stopgate));
});

test.each([
  { what: 'the tests', file: () => pathOf('.ci/nightly'), name: 'nightly', expected: [audited, ...tested] },
  { what: 'npm', file: () => join(folder, 'bin/npm'), name: 'npm', expected: [audited, ...tested, packed] },
  {
    what: 'the check of the types',
    file: () => join(folder, 'bin/npx'),
    name: 'npx',
    expected: [audited, ...tested, packed, published(tarballs.nats), checked(tarballs.client)],
  },
])('if $what fail, nothing is tagged', ({ file, name, expected }) => {
  putStub(file(), name, { code: 1 });
  run('git', 'commit', '-qam', 'fails');
  expect(release()).toMatchObject({ code: 1 });
  expect({ calls: acts(), tags: tags() }).toEqual({ calls: expected, tags: '' });
});

test('a known vulnerability in a package ends a release before its tests', () => {
  const found = '{ "metadata": { "vulnerabilities": { "low": 3, "high": 1, "critical": 0 } } }';
  putStub(join(folder, 'bin/npm'), 'npm', { says: found, code: 1 });
  expect(release()).toMatchObject({ code: 1, stderr: expect.stringContaining('audit: 3 low, 1 high, 0 critical') });
  expect({ calls: acts(), tags: tags() }).toEqual({ calls: [audited], tags: '' });
});

test('images get the current digests of docker, and newer ones later', () => {
  put('docker/compose.yaml', 'services:\n  nats:\n    image: nats:2-alpine\n');
  const newer = `sha256:${'f'.repeat(64)}`;
  putStub(join(folder, 'bin/docker'), 'docker', { says: newer });
  expect(run('bash', 'scripts/images.sh')).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(pathOf('docker/Dockerfile'), 'utf8')).toContain(`ARG BASE_IMAGE=node:20-slim@${newer}\n`);
  expect(readFileSync(pathOf('docker/compose.yaml'), 'utf8')).toContain(`    image: nats:2-alpine@${newer}\n`);
  expect(readFileSync(pathOf('docker/cluster/compose.yaml'), 'utf8')).toContain(`nats:2-alpine@${newer} # a note\n`);
  expect(run('git', 'status', '--porcelain').stdout.match(/^\?\?/gm)).toBeNull();
});

test.each([
  {
    why: 'an image without a digest',
    change: () => {
      put('docker/Dockerfile', 'ARG BASE_IMAGE=node:20-slim\n');
      commit();
    },
    says: 'images: without a digest: node:20-slim',
  },
  { why: 'a change that is not committed', change: () => put('new.ts', ''), says: 'the working tree is not clean' },
  {
    why: 'a version that is tagged',
    change: () => void run('git', 'tag', 'v1.2.0'),
    says: 'v1.2.0 is already released',
  },
  {
    why: 'a package without its repository',
    change: () => {
      put('package.json', '{ "version": "1.2.0" }');
      commit();
    },
    says: 'package.json names no "repository"',
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
])('$why is refused, also by a dry run', ({ change, says }) => {
  change();
  for (const args of [['--dry-run'], []]) {
    expect(release(...args)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(says) });
  }
  expect(calls()).toEqual([]);
});

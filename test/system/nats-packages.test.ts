/**
 * Packages of nats-server, built from a NATS release (here a fake one on loopback) or from a local program, and the
 * messages of `npm run packages` about unusable programs.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder } from '../support/deployment.ts';

const script = new URL('../../scripts/pack/nats-server.js', import.meta.url);
const run = promisify(execFile);

/** Serves a release whose archives are all equal. @param sumOf returns the sum for SHA256SUMS */
async function serveRelease(sumOf: (archive: Buffer) => string): Promise<string> {
  const folder = await makeFolder({ 'nats/LICENSE': 'Apache' });
  onTestFinished(() => folder.remove());
  await chmod(await folder.write('nats/nats-server', '#!/bin/sh\n'), 0o644);
  await run('tar', ['-czf', 'archive', 'nats'], { cwd: folder.path });
  const archive = await readFile(join(folder.path, 'archive'));
  const server = createServer(({ url = '' }, response) => {
    const [, version] = /^\/v([^/]+)\//.exec(url) ?? [];
    const names = ['linux-amd64', 'linux-arm64', 'darwin-amd64', 'darwin-arm64'].map(
      (platform) => `nats-server-v${version}-${platform}.tar.gz`,
    );
    if (url.endsWith('/SHA256SUMS')) response.end(names.map((name) => `${sumOf(archive)}  ${name}\n`).join(''));
    else if (names.some((name) => url.endsWith(`/${name}`))) response.end(archive);
    else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** @returns the folder of the packages */
async function stage(releases: string): Promise<string> {
  const folder = await makeFolder();
  onTestFinished(() => folder.remove());
  const call = `import { stageRelease } from '${script}'; await stageRelease('${folder.path}', '${releases}');`;
  await run(process.execPath, ['--input-type=module', '-e', call]);
  return folder.path;
}

test('each platform has a package with the program and its licence, which npm installs only there', async () => {
  const packages = await stage(await serveRelease((archive) => createHash('sha256').update(archive).digest('hex')));
  const platforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];
  expect((await readdir(packages)).sort()).toEqual(platforms.map((platform) => `nats-server-${platform}`));
  for (const platform of platforms) {
    const folder = join(packages, `nats-server-${platform}`);
    const [os, cpu] = platform.split('-');
    expect(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      name: `@stopgate/nats-server-${platform}`,
      license: 'Apache-2.0',
      os: [os],
      cpu: [cpu],
    });
    expect((await stat(join(folder, 'bin/nats-server'))).mode & 0o111).toBe(0o111);
    expect(await readFile(join(folder, 'LICENSE'), 'utf8')).toBe('Apache');
  }
});

test('an archive that does not match SHA256SUMS is refused', async () => {
  const releases = await serveRelease(() => '0'.repeat(64));
  await expect(stage(releases)).rejects.toMatchObject({
    stderr: expect.stringContaining("not in the release's SHA256SUMS"),
  });
});

/** @returns the results of `readProgram`, in the order of the files */
async function read(...programs: readonly string[]): Promise<readonly string[]> {
  const call = `import { readProgram } from '${script}';
    const versionOf = (program) => {
      try {
        return readProgram(program).version;
      } catch (error) {
        return error.message;
      }
    };
    console.log(JSON.stringify(process.argv.slice(1).map(versionOf)));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', call, ...programs]);
  return (JSON.parse(stdout) as string[]).map((said, index) => said.replace(`'${programs[index]}' `, ''));
}
const says = (version: string) => `#!/bin/sh\necho 'nats-server: v${version}'\n`;
const elf = (machine: number) => `\x7fELF${'\0'.repeat(14)}${String.fromCharCode(machine)}\0`;

test('a program is accepted with its version, or refused with a reason', async () => {
  const here = `${process.platform}-${process.arch}`;
  const rows: readonly [name: string, program: string, says: string][] = [
    ['oldest', says('2.9.0'), '2.9.0'],
    ['candidate', says('2.14.0-RC.1'), '2.14.0-RC.1'],
    ['newer', says('3.0.1'), '3.0.1'],
    ['too old', says('2.8.4'), '--nats-server is nats-server 2.8.4, and 2.9 or later is needed'],
    [
      'another program',
      '#!/bin/sh\necho other 1.2.3\n',
      `--nats-server is not a nats-server: "--version" prints 'other 1.2.3'`,
    ],
    ['archive', 'PK', '--nats-server is not a program; is it an archive that has to be unpacked?'],
    ['processor', elf(0x08), `--nats-server is a program for linux-other, and this is ${here}`],
  ];
  const folder = await makeFolder({
    ...Object.fromEntries(rows.map(([name, text]) => [name, text])),
    'not executable': says('2.9.0'),
  });
  onTestFinished(() => folder.remove());
  for (const [name] of rows) await chmod(join(folder.path, name), 0o755);
  const names = [...rows.map(([name]) => name), 'not executable', '.', 'missing'];
  expect(await read(...names.map((name) => join(folder.path, name)))).toEqual([
    ...rows.map(([, , expected]) => expected),
    '--nats-server is not executable: run "chmod +x" on it',
    '--nats-server is a folder: name the program in it',
    '--nats-server does not exist',
  ]);
});

test('an accepted program gets a package with its version', async () => {
  const folder = await makeFolder({ 'nats-server': says('2.14.0-RC.1') });
  onTestFinished(() => folder.remove());
  const program = join(folder.path, 'nats-server');
  await chmod(program, 0o755);
  const call = `import { readProgram, stageProgram } from '${script}';
    stageProgram('${folder.path}', readProgram('${program}'), '${program}');`;
  await run(process.execPath, ['--input-type=module', '-e', call]);
  const made = join(folder.path, `nats-server-${process.platform}-${process.arch}`, 'package.json');
  expect(JSON.parse(await readFile(made, 'utf8'))).toMatchObject({ version: '2.14.0-RC.1' });
});

test('a refused program does not affect packages of an earlier run', async () => {
  const out = await makeFolder({ 'stopgate/package.json': '{}', 'stopgate-0.1.0.tgz': 'of an earlier run' });
  onTestFinished(() => out.remove());
  const pack = new URL('../../scripts/pack.js', import.meta.url).pathname;
  await expect(run(process.execPath, [pack, '--out', out.path, '--nats-server', '/missing'])).rejects.toMatchObject({
    stderr: `packages: --nats-server '/missing' does not exist; nothing was packed; the packages in ${out.path} are from an earlier run\n`,
  });
  expect(await readdir(out.path)).toEqual(['stopgate', 'stopgate-0.1.0.tgz']);
});

/**
 * The packages of nats-server, made from a release of NATS (here one on loopback, with a program of one line) or from a
 * program that is here, and what `npm run packages` says of a program that it cannot take.
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

/** Serves a release in which every archive is the same. @param sumOf what SHA256SUMS says of it */
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

/** @returns the folder with the packages */
async function stage(releases: string): Promise<string> {
  const folder = await makeFolder();
  onTestFinished(() => folder.remove());
  const call = `import { stageRelease } from '${script}'; await stageRelease('${folder.path}', '${releases}');`;
  await run(process.execPath, ['--input-type=module', '-e', call]);
  return folder.path;
}

test('there is one for each platform, which npm installs there alone, with the program and its licence', async () => {
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

test('an archive that is not what SHA256SUMS says is refused', async () => {
  const releases = await serveRelease(() => '0'.repeat(64));
  await expect(stage(releases)).rejects.toMatchObject({
    stderr: expect.stringContaining("not in the release's SHA256SUMS"),
  });
});

/** @returns what `readProgram` says of each, in the order of the files */
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

test('a program is taken with its version, or refused with the reason', async () => {
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

test('a program that is taken has a package of its version', async () => {
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

test('a refused program leaves what an earlier run has packed', async () => {
  const out = await makeFolder({ 'stopgate/package.json': '{}', 'stopgate-0.1.0.tgz': 'of an earlier run' });
  onTestFinished(() => out.remove());
  const pack = new URL('../../scripts/pack.js', import.meta.url).pathname;
  await expect(run(process.execPath, [pack, '--out', out.path, '--nats-server', '/missing'])).rejects.toMatchObject({
    stderr: `packages: --nats-server '/missing' does not exist; nothing was packed; what is in ${out.path} is from an earlier run\n`,
  });
  expect(await readdir(out.path)).toEqual(['stopgate', 'stopgate-0.1.0.tgz']);
});

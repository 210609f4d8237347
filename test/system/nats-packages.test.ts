/** The packages of nats-server, made from a release of NATS: here one on loopback, with a program of one line. */
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
      ...{ name: `@stopgate/nats-server-${platform}`, license: 'Apache-2.0', os: [os], cpu: [cpu] },
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

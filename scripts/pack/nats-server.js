/** nats-server as npm packages, one a platform, of which npm installs the one that fits: made of NATS's own releases. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The release that the packages carry, and their own version. */
export const natsVersion = '2.15.2';

/** By npm's names for system and processor: NATS's names. */
const platforms = {
  'linux-x64': 'linux-amd64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-amd64',
  'darwin-arm64': 'darwin-arm64',
};
export const packageNames = Object.keys(platforms).map((platform) => `@stopgate/nats-server-${platform}`);

/**
 * All platforms, from NATS's release.
 * @param from where its releases lie
 * @throws Error a file is not what the release's own SHA256SUMS says
 */
export async function stageRelease(into, from) {
  const release = `${from}/v${natsVersion}`;
  const sums = (await download(`${release}/SHA256SUMS`)).toString();
  for (const [platform, theirs] of Object.entries(platforms)) {
    const name = `nats-server-v${natsVersion}-${theirs}`;
    const archive = await download(`${release}/${name}.tar.gz`);
    const sum = createHash('sha256').update(archive).digest('hex');
    if (!sums.split('\n').includes(`${sum}  ${name}.tar.gz`))
      throw new Error(`${name}.tar.gz has the checksum ${sum}, which is not in the release's SHA256SUMS`);
    const folder = mkdtempSync(join(tmpdir(), 'stopgate-nats-server-'));
    try {
      execFileSync('tar', ['-xzf', '-', '-C', folder, '--strip-components=1'], { input: archive });
      stage(into, platform, join(folder, 'nats-server'), join(folder, 'LICENSE'));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/** This platform alone, from a program that is here. @throws Error it is of another version */
export function stageProgram(into, program, licence) {
  const said = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim();
  if (!said.endsWith(` v${natsVersion}`)) throw new Error(`${program} is '${said}', and v${natsVersion} is packed`);
  stage(into, `${process.platform}-${process.arch}`, program, licence);
}

function stage(into, platform, program, licence) {
  const [os, cpu] = platform.split('-');
  const folder = join(into, `nats-server-${platform}`);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  copyFileSync(program, join(folder, 'bin/nats-server'));
  chmodSync(join(folder, 'bin/nats-server'), 0o755);
  copyFileSync(licence, join(folder, 'LICENSE'));
  const about = {
    name: `@stopgate/nats-server-${platform}`,
    version: natsVersion,
    description: `nats-server ${natsVersion} for ${platform}, as NATS released it. stopgate starts it.`,
    homepage: 'https://github.com/nats-io/nats-server',
    license: 'Apache-2.0',
    type: 'module',
    preferUnplugged: true, // a program must be a file
    ...{ os: [os], cpu: [cpu] },
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
}

async function download(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

/** Creates npm packages of nats-server, one per platform, from NATS's releases or from a local program. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The release to package, unless a program is given. The version of a package is that of its program. */
const natsVersion = '2.15.3';

/** By npm's names of system and processor: NATS's name of the platform. */
const platforms = {
  'linux-x64': 'linux-amd64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-amd64',
  'darwin-arm64': 'darwin-arm64',
};
/** The first version with every feature that we use. */
const oldest = [2, 9];
/** Printing the version takes a few milliseconds. */
const versionTimeoutMs = 10_000;

/**
 * Creates the packages of all platforms, from NATS's release.
 * @param from the URL of its releases
 * @throws Error if a file does not match the release's SHA256SUMS
 */
export async function stageRelease(into, from) {
  const release = `${from}/v${natsVersion}`;
  const sums = (await download(`${release}/SHA256SUMS`)).toString();
  for (const [platform, natsPlatform] of Object.entries(platforms)) {
    const name = `nats-server-v${natsVersion}-${natsPlatform}`;
    const archive = await download(`${release}/${name}.tar.gz`);
    const sum = createHash('sha256').update(archive).digest('hex');
    if (!sums.split('\n').includes(`${sum}  ${name}.tar.gz`))
      throw new Error(`${name}.tar.gz has the checksum ${sum}, which is not in the release's SHA256SUMS`);
    const folder = mkdtempSync(join(tmpdir(), 'stopgate-nats-server-'));
    try {
      execFileSync('tar', ['-xzf', '-', '-C', folder, '--strip-components=1'], { input: archive });
      stage(into, platform, natsVersion, join(folder, 'nats-server'), join(folder, 'LICENSE'));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/** Creates the package of this platform from a local program. */
export function stageProgram(into, { program, version }, licence) {
  stage(into, `${process.platform}-${process.arch}`, version, program, licence);
}

/** @throws Error unless it is a nats-server of 2.9 or later that runs here */
export function readProgram(program) {
  const refuse = (why) => {
    throw new Error(`--nats-server '${program}' ${why}`);
  };
  const found = statSync(program, { throwIfNoEntry: false });
  if (found === undefined) refuse('does not exist');
  if (!found.isFile()) refuse(found.isDirectory() ? 'is a folder: name the program in it' : 'is not a file');
  if ((found.mode & 0o111) === 0) refuse('is not executable: run "chmod +x" on it');
  const here = `${process.platform}-${process.arch}`;
  const platform = platformOf(program);
  if (platform !== null && platform !== here) refuse(`is a program for ${platform}, and this is ${here}`);
  const printed = spawnSync(program, ['--version'], {
    encoding: 'utf8',
    timeout: versionTimeoutMs,
    killSignal: 'SIGKILL',
  });
  if (printed.error?.code === 'ETIMEDOUT') refuse('does not print its version: it is not a nats-server');
  if (printed.error?.code === 'EACCES') refuse('may not be run by this user');
  if (printed.error !== undefined) refuse(`does not run on ${here}`);
  const [line = ''] = printed.stdout.trim().split('\n');
  const [, version, major, minor] = /^nats-server: v((\d+)\.(\d+)\.\d+(?:-[0-9A-Za-z.-]+)?)$/.exec(line) ?? [];
  if (version === undefined) refuse(`is not a nats-server: "--version" prints '${line.slice(0, 80)}'`);
  const isOld = Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1]);
  if (isOld) refuse(`is nats-server ${version}, and ${oldest.join('.')} or later is needed`);
  return { program, version };
}

/**
 * Returns the platform of a program, or null if its format does not say, for example for a script.
 * @throws Error if it is not a program
 */
function platformOf(program) {
  const head = Buffer.alloc(20);
  const file = openSync(program, 'r');
  readSync(file, head);
  closeSync(file);
  const magic = head.toString('latin1', 0, 4);
  if (magic === '\x7fELF') return `linux-${{ 62: 'x64', 183: 'arm64' }[head.readUInt16LE(18)] ?? 'other'}`;
  if (magic === '\xcf\xfa\xed\xfe') return `darwin-${{ 7: 'x64', 12: 'arm64' }[head[4]] ?? 'other'}`;
  if (magic === '\xca\xfe\xba\xbe' || magic.startsWith('#!')) return null; // universal binary, or script
  if (magic.startsWith('MZ')) return 'win32';
  throw new Error(`--nats-server '${program}' is not a program; is it an archive that has to be unpacked?`);
}

function stage(into, platform, version, program, licence) {
  const [os, cpu] = platform.split('-');
  const folder = join(into, `nats-server-${platform}`);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  copyFileSync(program, join(folder, 'bin/nats-server'));
  chmodSync(join(folder, 'bin/nats-server'), 0o755);
  copyFileSync(licence, join(folder, 'LICENSE'));
  const about = {
    name: `@stopgate/nats-server-${platform}`,
    version,
    description: `nats-server ${version} for ${platform}, as NATS released it. stopgate starts it.`,
    homepage: 'https://github.com/nats-io/nats-server',
    license: 'Apache-2.0',
    type: 'module',
    preferUnplugged: true, // the program must be a file on disk
    os: [os],
    cpu: [cpu],
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
}

async function download(url) {
  const response = await fetch(url).catch((cause) => {
    throw new Error(`cannot download ${url}: ${cause.cause?.message ?? cause.message}`, { cause });
  });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

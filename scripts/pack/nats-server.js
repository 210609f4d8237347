/** nats-server as npm packages, one a platform, made of NATS's own releases or of a program that is here. */
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

/** The release that is packed, unless a program is given; the version of a package is that of its program. */
const natsVersion = '2.15.3';

/** By npm's names for system and processor: NATS's names. */
const platforms = {
  'linux-x64': 'linux-amd64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-amd64',
  'darwin-arm64': 'darwin-arm64',
};
/** The first with all that we use. */
const oldest = [2, 9];
/** To print its version, a program takes some milliseconds. */
const patienceMs = 10_000;

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
      stage(into, platform, natsVersion, join(folder, 'nats-server'), join(folder, 'LICENSE'));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/** This platform alone, from a program that is here. */
export function stageProgram(into, { program, version }, licence) {
  stage(into, `${process.platform}-${process.arch}`, version, program, licence);
}

/** @throws Error it is no nats-server of 2.9 or later that runs here */
export function readProgram(program) {
  const refuse = (why) => {
    throw new Error(`--nats-server '${program}' ${why}`);
  };
  const found = statSync(program, { throwIfNoEntry: false });
  if (found === undefined) refuse('does not exist');
  if (!found.isFile()) refuse(found.isDirectory() ? 'is a folder: name the program in it' : 'is not a file');
  if ((found.mode & 0o111) === 0) refuse('is not executable: run "chmod +x" on it');
  const [here, theirs] = [`${process.platform}-${process.arch}`, platformOf(program)];
  if (theirs !== null && theirs !== here) refuse(`is a program for ${theirs}, and this is ${here}`);
  const said = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: patienceMs, killSignal: 'SIGKILL' });
  if (said.error?.code === 'ETIMEDOUT') refuse('does not print its version: it is not a nats-server');
  if (said.error?.code === 'EACCES') refuse('may not be run by this user');
  if (said.error !== undefined) refuse(`does not run on ${here}`);
  const [line = ''] = said.stdout.trim().split('\n');
  const [, version, major, minor] = /^nats-server: v((\d+)\.(\d+)\.\d+(?:-[0-9A-Za-z.-]+)?)$/.exec(line) ?? [];
  if (version === undefined) refuse(`is not a nats-server: "--version" prints '${line.slice(0, 80)}'`);
  const isOld = Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1]);
  if (isOld) refuse(`is nats-server ${version}, and ${oldest.join('.')} or later is needed`);
  return { program, version };
}

/** For which platform a program is. Null: its format does not say, as of a script. @throws Error it is none */
function platformOf(program) {
  const head = Buffer.alloc(20);
  const file = openSync(program, 'r');
  readSync(file, head);
  closeSync(file);
  const magic = head.toString('latin1', 0, 4);
  if (magic === '\x7fELF') return `linux-${{ 62: 'x64', 183: 'arm64' }[head.readUInt16LE(18)] ?? 'other'}`;
  if (magic === '\xcf\xfa\xed\xfe') return `darwin-${{ 7: 'x64', 12: 'arm64' }[head[4]] ?? 'other'}`;
  if (magic === '\xca\xfe\xba\xbe' || magic.startsWith('#!')) return null; // for several, and a script
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
    preferUnplugged: true, // a program must be a file
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
